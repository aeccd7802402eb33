"""Admission by the API server: quotas, limit ranges and priority classes, with its own messages."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_runtime.engines.native.model import MODEL as NATIVE
from apportion_runtime.sim.api.clock import Clock
from apportion_runtime.sim.api.label_keys import with_label_keys
from apportion_runtime.sim.api.limit_ranges import check_limits, with_defaults
from apportion_runtime.sim.api.object_store import ObjectStore
from apportion_runtime.sim.api.priority_classes import with_priority
from apportion_runtime.sim.api.resource_quotas import Quotas, quantity_text
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.engine import Denied, UnreadableError
from apportion_runtime.sim.scenario.reader import read_scenario
from apportion_runtime.snapshots.quantities import parse_quantity

Made = dict[str, Any]


def pod(name: str = "p", requests: Made | None = None, limits: Made | None = None, **spec: Any) -> Made:
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value is not None}
    container = {"name": "main", "resources": resources}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ai"},
        "spec": {"containers": [container], **spec},
    }


def quota(hard: Made, **spec: Any) -> Made:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "ai-quota", "namespace": "ai"},
        "spec": {"hard": hard, **spec},
    }


def limit_range(**item: Any) -> Made:
    return {"metadata": {"name": "ai-limits", "namespace": "ai"}, "spec": {"limits": [{"type": "Container", **item}]}}


GPU = "nvidia.com/gpu"
ALL = {"cpu": "1", "memory": "1Gi"}


def refusal(quotas: Quotas, made: Made) -> str:
    with pytest.raises(Denied) as denied:
        quotas.charge(made)
    return str(denied.value)


def test_gpu_quota_refusal_matches_the_api_server() -> None:
    quotas = Quotas([quota({f"requests.{GPU}": "8"})])
    quotas.charge(pod("a", {GPU: "6"}))
    assert refusal(quotas, pod("b", {GPU: "4"})) == (
        'pods "b" is forbidden: exceeded quota: ai-quota, requested: requests.nvidia.com/gpu=4, '
        "used: requests.nvidia.com/gpu=6, limited: requests.nvidia.com/gpu=8"
    )
    quotas.charge(pod("c", {GPU: "2"}))
    assert quotas.release("Pod", "ai", "a")
    quotas.charge(pod("b", {GPU: "4"}))


def test_refusal_lists_only_exceeded_resources() -> None:
    quotas = Quotas([quota({"requests.memory": "2Gi", "limits.memory": "1Gi", "pods": "4", "cpu": "8"})])
    said = refusal(quotas, pod("a", {"cpu": "1", "memory": "3Gi"}, {"memory": "1536Mi"}))
    assert said.endswith(
        "requested: limits.memory=1536Mi,requests.memory=3Gi, used: limits.memory=0,requests.memory=0, "
        "limited: limits.memory=1Gi,requests.memory=2Gi"
    )


def test_cpu_quota_requires_requests_of_every_container() -> None:
    quotas = Quotas([quota({"requests.cpu": "8", "limits.memory": "8Gi"})])
    assert refusal(quotas, pod("a", {"memory": "1Gi"})) == (
        'pods "a" is forbidden: failed quota: ai-quota: must specify limits.memory for: main; requests.cpu for: main'
    )
    quotas.charge(pod("b", {"cpu": "1"}, {"memory": "1Gi"}))


def test_larger_init_container_requests_count() -> None:
    made = pod("a", {"cpu": "1"})
    made["spec"]["initContainers"] = [{"name": "load", "resources": {"requests": {"cpu": "6"}}}]
    assert "requested: cpu=6, used: cpu=0, limited: cpu=4" in refusal(Quotas([quota({"cpu": "4"})]), made)


@pytest.mark.parametrize(
    ("scope", "spec", "counts"),
    [
        ({"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}, {"priorityClassName": "high"}, True),
        ({"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}, {"priorityClassName": "low"}, False),
        ({"scopeName": "PriorityClass", "operator": "NotIn", "values": ["high"]}, {}, True),
        ({"scopeName": "PriorityClass", "operator": "Exists"}, {}, False),
        ({"scopeName": "PriorityClass", "operator": "DoesNotExist"}, {}, True),
        ({"scopeName": "Terminating", "operator": "Exists"}, {"activeDeadlineSeconds": 60}, True),
        ({"scopeName": "NotTerminating", "operator": "Exists"}, {"activeDeadlineSeconds": 60}, False),
        ({"scopeName": "NotBestEffort", "operator": "Exists"}, {}, True),
        ({"scopeName": "BestEffort", "operator": "Exists"}, {}, False),
    ],
)
def test_scoped_quota_applies_to_matching_pods(scope: Made, spec: Made, counts: bool) -> None:
    quotas = Quotas([quota({f"requests.{GPU}": "0"}, scopeSelector={"matchExpressions": [scope]})])
    made = pod("a", {GPU: "1", **ALL}, **spec)
    if counts:
        assert "exceeded quota" in refusal(quotas, made)
    else:
        quotas.charge(made)


def test_objects_are_counted_by_their_resource() -> None:
    quotas = Quotas([quota({"count/jobs.batch": "1"})])
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "ai"}, "spec": {}}
    quotas.charge(job)
    quotas.charge(pod("unaffected"))
    second = {**job, "metadata": {"name": "k", "namespace": "ai"}}
    assert refusal(quotas, second) == (
        'jobs.batch "k" is forbidden: exceeded quota: ai-quota, requested: count/jobs.batch=1, '
        "used: count/jobs.batch=1, limited: count/jobs.batch=1"
    )


def test_invalid_amount_names_its_quota() -> None:
    with pytest.raises(UnreadableError, match=r"invalid ResourceQuota ai/ai-quota: `many` is not a quantity"):
        Quotas([quota({"pods": "many"})])


def test_refused_pod_charges_no_quota() -> None:
    first, second = quota({"pods": "5"}), quota({"pods": "0"})
    second["metadata"] = {"name": "strict", "namespace": "ai"}
    quotas = Quotas([first, second])
    assert "exceeded quota: strict" in refusal(quotas, pod())
    assert [each.used for each in quotas.of("ai")] == [{}, {}]


@pytest.mark.parametrize(
    ("name", "written", "said"),
    [
        ("requests.memory", "1536Mi", "1536Mi"),
        ("requests.memory", "2048Mi", "2Gi"),
        ("requests.memory", "1000", "1k"),
        ("cpu", "0.5", "500m"),
        ("cpu", "1000", "1k"),
        ("cpu", "32", "32"),
        (f"requests.{GPU}", "0", "0"),
    ],
)
def test_quantities_match_kubernetes(name: str, written: str, said: str) -> None:
    assert quantity_text(name, parse_quantity(written)) == said


def test_limit_range_sets_defaults() -> None:
    ranges = [limit_range(default={"cpu": "4", "memory": "8Gi"}, defaultRequest={"cpu": "2"}, max={GPU: "2"})]
    made = with_defaults(pod("a", {"memory": "1Gi"}), ranges)
    assert made["spec"]["containers"][0]["resources"] == {
        "limits": {GPU: "2", "cpu": "4", "memory": "8Gi"},
        "requests": {GPU: "2", "cpu": "2", "memory": "1Gi"},
    }


@pytest.mark.parametrize(
    ("item", "requests", "limits", "said"),
    [
        ({"min": {"cpu": "2"}}, {"cpu": "1"}, None, "minimum cpu usage per Container is 2, but request is 1"),
        ({"min": {"cpu": "2"}}, None, None, "minimum cpu usage per Container is 2.  No request is specified"),
        ({"max": {GPU: "2"}}, {GPU: "4"}, {GPU: "4"}, f"maximum {GPU} usage per Container is 2, but limit is 4"),
        ({"max": {"cpu": "2"}}, {"cpu": "1"}, None, "maximum cpu usage per Container is 2.  No limit is specified"),
        (
            {"maxLimitRequestRatio": {"memory": "2"}},
            {"memory": "1Gi"},
            {"memory": "3Gi"},
            "memory max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
        ({"min": {"cpu": "1"}, "max": {"cpu": "4"}}, {"cpu": "1"}, {"cpu": "4"}, None),
        (
            {"type": "Pod", "max": {"cpu": "2"}},
            {"cpu": "4"},
            {"cpu": "4"},
            "maximum cpu usage per Pod is 2, but limit is 4",
        ),
    ],
)
def test_limit_range_enforces_bounds(item: Made, requests: Made | None, limits: Made | None, said: str | None) -> None:
    made, ranges = pod("a", requests, limits), [limit_range(**item)]
    if said is None:
        check_limits(made, ranges)
        return
    with pytest.raises(Denied) as denied:
        check_limits(made, ranges)
    assert str(denied.value) == f'pods "a" is forbidden: {said}'


def classes(*made: Made) -> ObjectStore:
    store = ObjectStore(Clock())
    for each in made:
        store.create({"kind": "PriorityClass", **each})
    return store


def test_pod_priority_requires_an_existing_class() -> None:
    store = classes(
        {"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"},
        {"metadata": {"name": "usual"}, "value": 10, "globalDefault": True},
    )
    spec = with_priority(pod(priorityClassName="high"), store)["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "Never")
    spec = with_priority(pod(), store)["spec"]
    assert (spec["priority"], spec["priorityClassName"], spec["preemptionPolicy"]) == (
        10,
        "usual",
        "PreemptLowerPriority",
    )
    with pytest.raises(Denied, match="no PriorityClass with name none was found"):
        with_priority(pod(priorityClassName="none"), store)
    with pytest.raises(Denied, match=r"the integer value of priority \(5\) must not be provided"):
        with_priority(pod(priorityClassName="high", priority=5), store)
    assert with_priority(pod(), classes())["spec"]["priority"] == 0


@pytest.mark.parametrize("others", [0, 2])
def test_run_ends_when_only_denied_retries_remain(others: int) -> None:
    small = "".join(
        f"  - {{name: s{n}, kind: Job, namespace: ai, cpu: 2, at: {n}s, duration: 600s}}\n" for n in range(others)
    )
    text = (
        "nodes: [{pool: cpu, count: 1, cpu: 32, memory: 128Gi}]\nworkloads:\n"
        f"{small}  - {{name: big, kind: Job, namespace: ai, cpu: 8, duration: 60s}}\n"
    )
    history = Cluster(
        [quota({"requests.cpu": "4"})], read_scenario(text, lambda name: [], NATIVE.workload_labels), NATIVE
    ).run()
    outcomes = {workload.name: workload.outcome for workload in history.workloads}
    assert outcomes == {**{f"s{n}": "succeeded" for n in range(others)}, "big": ""}
    assert "exceeded quota: ai-quota" in history.workloads[others].why_waiting


def test_label_keys_are_merged_into_the_selectors_of_affinity_terms() -> None:
    selector = {"matchLabels": {"app": "web"}}
    term = {"labelSelector": selector, "matchLabelKeys": ["version", "absent"], "mismatchLabelKeys": ["tier"]}
    required, preferred = (f"{when}DuringSchedulingIgnoredDuringExecution" for when in ("required", "preferred"))
    affinity = {
        "podAffinity": {required: [term, {"matchLabelKeys": ["version"]}]},
        "podAntiAffinity": {preferred: [{"weight": 1, "podAffinityTerm": term}]},
    }
    made = pod(affinity=affinity)
    assert with_label_keys(made) is made
    made["metadata"]["labels"] = {"version": "2", "tier": "front"}
    merged = with_label_keys(made)["spec"]["affinity"]
    added = [
        {"key": "version", "operator": "In", "values": ["2"]},
        {"key": "tier", "operator": "NotIn", "values": ["front"]},
    ]
    expected = {**term, "labelSelector": {**selector, "matchExpressions": added}}
    # A term without a selector selects nothing.
    assert merged["podAffinity"][required] == [expected, {"matchLabelKeys": ["version"]}]
    assert merged["podAntiAffinity"][preferred] == [{"weight": 1, "podAffinityTerm": expected}]
    assert selector == {"matchLabels": {"app": "web"}}
