"""YuniKorn: its queues, preemption, gangs and limits, rule by rule."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apportion_runtime.engines.yunikorn.configuration import ConfigurationError, read_configuration
from apportion_runtime.engines.yunikorn.model import MODEL as YUNIKORN
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.history import History
from apportion_runtime.sim.observed.cluster import observed_cluster
from apportion_runtime.sim.report.summary import summarise
from apportion_runtime.sim.scenario.format import Scenario
from apportion_runtime.sim.scenario.reader import read_scenario

Made = dict[str, Any]
GPU = "nvidia.com/gpu"
FENCE = {"priority.policy": "fence"}


def queue(name: str, guaranteed: int | None = None, most: int | None = None, **more: Any) -> Made:
    resources = {
        key: {GPU: str(value)} for key, value in (("guaranteed", guaranteed), ("max", most)) if value is not None
    }
    return {"name": name, "resources": resources, "properties": FENCE | more.pop("properties", {}), **more}


def config_map(*queues: Made, **partition: Any) -> Made:
    root = {"name": "root", "parent": True, "submitacl": "*", "properties": FENCE, "queues": list(queues)}
    rules = [{"name": "tag", "value": "namespace.parentqueue"}, {"name": "provided"}]
    made = {"name": "default", "placementrules": rules, "queues": [root], **partition}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "yunikorn-configs", "namespace": "yunikorn"},
        "data": {"queues.yaml": json.dumps({"partitions": [made]})},
    }


def namespace(name: str, path: str) -> Made:
    annotations = {"yunikorn.apache.org/parentqueue": path}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "annotations": annotations}}


A, B = namespace("a", "root.a"), namespace("b", "root.b")
TWO = "nodes: [{pool: gpu, count: 2, gpus: 2, cpu: 32, memory: 128Gi}]\n"


def run(text: str, *objects: Made) -> History:
    scenario = read_scenario(text, lambda name: [], YUNIKORN.workload_labels)
    return Cluster(objects, scenario, YUNIKORN).run()


def facts(history: History, what: str, workload: str) -> list[Any]:
    return [fact for fact in history.facts if fact.what == what and fact.workload == workload]


def test_minimum_of_the_short_form_makes_no_gang() -> None:
    """A Job without task groups starts with its first pods, also if its minimum never runs at once."""
    job = "{name: job, namespace: a, kind: Job, pods: 8, min: 8, gpus: 1, duration: 10m}"
    history = run(f"{TWO}workloads: [{job}]", config_map(queue("a", 2)), A)
    (start,) = facts(history, "started", "job")
    assert (start.at_s, start.why) == (0.0, "4 pods placed")
    summary = summarise(history)
    (job_facts,) = history.workloads
    assert job_facts.started_s == 0.0
    assert job_facts.finished_s == summary.makespan_s
    assert 1200 < summary.makespan_s < 1210
    assert [(found.name, found.n_waiting, found.wait_p50_s) for found in summary.queues if found.n_groups] == [
        ("root", 0, 0.0), ("root.a", 0, 0.0)
    ]  # fmt: skip


def test_guarantee_is_reclaimed_after_the_delay_from_the_newest_pods() -> None:
    history = run(
        TWO
        + """
workloads:
- {name: borrower, namespace: a, pods: 2, gpus: 1, duration: 1h, kind: Job}
- {name: later, namespace: a, pods: 2, gpus: 1, at: 5s, duration: 1h, kind: Job}
- {name: owner, namespace: b, pods: 1, gpus: 1, at: 10s, duration: 1h, kind: Job}
""",
        config_map(queue("a", 2), queue("b", 2)), A, B,
    )  # fmt: skip
    (evicted,) = facts(history, "evicted", "later")
    assert (evicted.at_s, evicted.by) == (40.0, "owner")
    assert evicted.why == "queue root.a exceeds its guarantee, and queue root.b is within its guarantee"
    assert facts(history, "started", "owner")[0].at_s >= 40.0
    assert not facts(history, "evicted", "borrower")


@pytest.mark.parametrize(
    "changed",
    [
        config_map(queue("a", 2, properties={"preemption.policy": "disabled"}), queue("b", 2)),
        config_map(queue("a", 2), queue("b", 2), preemption={"enabled": False}),
        config_map(queue("a", 4), queue("b", 2)),
        config_map(queue("a", 2), queue("b")),
    ],
    ids=["disabled for the queue", "disabled", "victims within their guarantee", "no guarantee"],
)
def test_nothing_is_evicted(changed: Made) -> None:
    history = run(
        TWO
        + """
workloads:
- {name: holder, namespace: a, pods: 4, gpus: 1, duration: 10m, kind: Job}
- {name: waits, namespace: b, pods: 1, gpus: 1, at: 10s, duration: 10m, kind: Job}
""",
        changed, A, B,
    )  # fmt: skip
    assert not facts(history, "evicted", "holder")
    assert facts(history, "started", "waits")[0].at_s == 602.0


def test_maximum_holds_pods_back() -> None:
    history = run(
        TWO + "workloads: [{name: x, namespace: a, pods: 3, gpus: 1, duration: 10m, kind: Job}]",
        config_map(queue("a", 1, 2), queue("b")), A,
    )  # fmt: skip
    assert [fact.at_s for fact in facts(history, "bound", "x")] == [0.0, 0.0, 602.0]
    assert facts(history, "waiting", "x")[0].why == "queue root.a has reached its maximum resources"


def test_queue_with_the_smallest_used_share_of_its_guarantee_is_next() -> None:
    history = run(
        "nodes: [{pool: gpu, count: 1, gpus: 3, cpu: 32, memory: 128Gi}]\n"
        """
workloads:
- {name: small, namespace: a, pods: 3, gpus: 1, duration: 10m, kind: Job}
- {name: large, namespace: b, pods: 3, gpus: 1, duration: 10m, kind: Job}
""",
        config_map(queue("a", 1), queue("b", 2)), A, B,
    )  # fmt: skip
    first = [fact.workload for fact in history.facts if fact.what == "bound" and fact.at_s == 0.0]
    assert sorted(first) == ["large", "large", "small"]


def test_priority_offset_comes_before_shares() -> None:
    history = run(
        "nodes: [{pool: gpu, count: 1, gpus: 2, cpu: 32, memory: 128Gi}]\n"
        """
workloads:
- {name: low, namespace: a, pods: 2, gpus: 1, duration: 10m, kind: Job}
- {name: high, namespace: b, pods: 2, gpus: 1, duration: 10m, kind: Job}
""",
        config_map(queue("a", 2, properties={"priority.offset": "-1"}), queue("b")), A, B,
    )  # fmt: skip
    assert [fact.workload for fact in history.facts if fact.what == "bound"][:2] == ["high", "high"]


@pytest.mark.parametrize(("policy", "nodes"), [("binpacking", 1), ("fair", 2)])
def test_node_sort_policy_chooses_nodes(policy: str, nodes: int) -> None:
    history = run(
        TWO + "workloads: [{name: x, namespace: a, pods: 2, gpus: 1, duration: 10m, kind: Job}]",
        config_map(queue("a"), nodesortpolicy={"type": policy}), A,
    )  # fmt: skip
    assert len({fact.node for fact in facts(history, "bound", "x")}) == nodes


def test_namespace_determines_the_queue_and_a_pod_names_one_otherwise() -> None:
    history = run(
        TWO
        + """
workloads:
- {name: placed, namespace: a, queue: root.b, pods: 1, gpus: 1, duration: 10m, kind: Job}
- {name: named, namespace: c, queue: root.b, pods: 1, gpus: 1, duration: 10m, kind: Job}
- {name: lost, namespace: d, queue: root.nowhere, pods: 1, gpus: 1, duration: 10m, kind: Job}
""",
        config_map(queue("a"), queue("b")), A, B,
    )  # fmt: skip
    assert {each.name: each.queue for each in history.workloads if each.queue} == {
        "placed": "root.a",
        "named": "root.b",
    }
    why = facts(history, "waiting", "lost")[0].why
    assert why == "application yunikorn-d-autogen was rejected: application rejected: no placement rule matched"


def test_pods_with_the_id_of_an_application_run_in_its_queue() -> None:
    history = run(
        TWO
        + """
workloads:
- {name: first, namespace: c, queue: root.a, pods: 1, gpus: 1, duration: 10m, kind: Job}
- {name: second, namespace: c, queue: root.b, pods: 1, gpus: 1, at: 10s, duration: 10m, kind: Job}
""",
        config_map(queue("a"), queue("b")), A, B,
    )  # fmt: skip
    assert [each.queue for each in history.workloads] == ["root.a", "root.a"]


def gang(name: str, members: int, **more: Any) -> str:
    """Return a job whose pods are a gang."""
    groups = json.dumps([{"name": "w", "minMember": members, "minResource": {GPU: "1", "cpu": "1"}}])
    annotations = {
        "yunikorn.apache.org/app-id": f"a.{name}",
        "yunikorn.apache.org/task-group-name": "w",
        "yunikorn.apache.org/task-groups": groups,
        **more,
    }
    resources = {"requests": {GPU: "1", "cpu": "1"}, "limits": {GPU: "1"}}
    spec = {
        "schedulerName": "yunikorn",
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "example.com/train", "resources": resources}],
    }
    template = {"metadata": {"annotations": annotations}, "spec": spec}
    made = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "a"},
        "spec": {"parallelism": members, "completions": members, "template": template},
    }
    return json.dumps(made)


def test_gang_starts_when_all_its_placeholders_have_nodes() -> None:
    history = run(
        TWO
        + f"""
workloads:
- {{name: other, namespace: b, pods: 2, gpus: 1, duration: 5m, kind: Job}}
- {{at: 10s, duration: 10m, manifest: {gang("train", 4)}}}
""",
        config_map(queue("a"), queue("b")), A, B,
    )  # fmt: skip
    assert {fact.at_s for fact in facts(history, "bound", "train")} == {302.0}
    waits = [fact.why for fact in facts(history, "waiting", "train")]
    assert waits[0] == "the gang is waiting for 2 placeholders: no node has enough free resources"


def test_gang_continues_without_placeholders_that_time_out() -> None:
    parameters = {"yunikorn.apache.org/schedulingPolicyParameters": "placeholderTimeoutInSeconds=60"}
    history = run(
        TWO
        + f"""
workloads:
- {{name: other, namespace: b, pods: 2, gpus: 1, duration: 5m, kind: Job}}
- {{at: 10s, duration: 10m, manifest: {gang("train", 4, **parameters)}}}
""",
        config_map(queue("a"), queue("b")), A, B,
    )  # fmt: skip
    assert [fact.at_s for fact in facts(history, "bound", "train")] == [70.0, 70.0, 302.0, 302.0]


def _made(kind: str, name: str, spec: Made, status: Made, **metadata: str) -> Made:
    metadata = {"name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z", **metadata}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec, "status": status}


def _pod(name: str, gpus: int, **spec: str) -> Made:
    amounts = {GPU: str(gpus)}
    containers = [{"name": "m", "image": "i", "resources": {"limits": amounts, "requests": amounts}}]
    phase = "Running" if "nodeName" in spec else "Pending"
    spec_of = {"schedulerName": "yunikorn", "restartPolicy": "Never", "containers": containers, **spec}
    return _made("Pod", name, spec_of, {"phase": phase}, namespace="z")


def test_pods_that_run_without_a_queue_are_in_the_recovery_queue() -> None:
    capacity = {"cpu": "32", "memory": "128Gi", "pods": "110", GPU: "2"}
    node = _made("Node", "n", {}, {"allocatable": capacity, "capacity": capacity})
    held = [config_map(queue("a"), queue("default")), node, _pod("runs", 2, nodeName="n"), _pod("waits", 1)]
    cluster = observed_cluster(held, YUNIKORN.observe(held), Scenario(start=1.8e9), YUNIKORN, admit=lambda made: None)
    while cluster.step():
        pass
    found = {each.name: (each.queue, each.why_waiting) for each in cluster.finish().workloads}
    assert found == {
        "runs": ("root.@recovery@", ""),
        "waits": ("root.default", "no node has enough free resources"),
    }


@pytest.mark.parametrize(
    ("style", "bound", "waits"),
    [
        ("Soft", [0.0], []),
        ("Hard", [], ["application a.old failed: the timeout of its placeholders is over"]),
    ],
)
def test_gang_of_an_old_pod_has_no_placeholders(style: str, bound: list[float], waits: list[str]) -> None:
    parameters = f"placeholderTimeoutInSeconds=60 gangSchedulingStyle={style}"
    job = json.loads(gang("old", 8, **{"yunikorn.apache.org/schedulingPolicyParameters": parameters}))
    template = job["spec"]["template"]
    metadata = {
        **template["metadata"],
        "name": "old",
        "namespace": "a",
        "creationTimestamp": "2020-01-01T00:00:00Z",
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
    history = run(TWO + f"workloads:\n- {{duration: 10m, manifest: {json.dumps(pod)}}}\n", config_map(queue("a")), A)
    assert [fact.at_s for fact in facts(history, "bound", "old")] == bound
    assert [fact.why for fact in facts(history, "waiting", "old")] == waits


def test_limit_for_users_counts_pods_of_the_recorded_user() -> None:
    limits = [{"limit": "ann", "users": ["ann"], "maxresources": {GPU: "1"}}]
    ann = '{yunikorn.apache.org/user.info: \'{"user": "ann"}\'}'
    pod = '{kind: Pod, apiVersion: v1, metadata: {name: %s, namespace: a, annotations: %s}, spec: {schedulerName: yunikorn, restartPolicy: Never, containers: [{name: m, resources: {limits: {nvidia.com/gpu: "1"}}}]}}'
    works = [f"- {{duration: 10m, manifest: {pod % (name, ann)}}}" for name in ("x", "y")]
    history = run(TWO + "workloads:\n" + "\n".join(works), config_map(queue("a", limits=limits)), A)
    assert facts(history, "waiting", "y")[0].why == "user ann has reached a limit in queue root.a"
    assert facts(history, "started", "y")[0].at_s == 602.0


def test_pods_of_other_schedulers_use_nodes() -> None:
    plain = '{kind: Pod, apiVersion: v1, metadata: {name: plain, namespace: z}, spec: {restartPolicy: Never, containers: [{name: m, resources: {limits: {nvidia.com/gpu: "2"}}}]}}'
    history = run(
        "nodes: [{pool: gpu, count: 1, gpus: 2, cpu: 32, memory: 128Gi}]\n"
        f"workloads:\n- {{duration: 10m, manifest: {plain}}}\n"
        "- {name: x, namespace: a, pods: 1, gpus: 1, at: 10s, duration: 10m, kind: Job}\n",
        config_map(queue("a")), A,
    )  # fmt: skip
    assert facts(history, "started", "plain")[0].at_s == 0.0
    assert facts(history, "started", "x")[0].at_s >= 600.0


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        ([], "ConfigMap yunikorn-configs does not exist or has no queues"),
        ([config_map(queue("a", childtemplate={}))], r"partitions\[0\].queues\[0\].queues\[0\].childtemplate is not simulated"),
        ([config_map(queue("a"), preemption={"quotapreemptionenabled": True})], "quotapreemptionenabled is not simulated"),
        ([config_map(queue("a"), placementrules=[{"name": "user"}])], "placement rule user is not simulated; use tag or provided"),
        ([config_map(queue("a"), placementrules=[{"name": "provided", "create": True}])], "create, parent and filter"),
        ([config_map(queue("a", limits=[{"groups": ["g"], "maxapplications": 1}]))], "group limits are not simulated"),
        ([config_map(queue("a", submitacl="ann"), queue("b"))], None),
        ([config_map(queue("a", 1, properties={"quota.preemption.delay": "10m"}))], r"quota.preemption.delay\] is not simulated"),
        ([config_map(queue("a", resources={"max": {GPU: "1.5"}}))], "resources.max.nvidia.com/gpu: invalid quantity"),
        ([config_map(queue("a", colour="red"))], r"unknown key partitions\[0\].queues\[0\].queues\[0\].colour"),
        ([config_map(queue("a"), name="other")], "partition default does not exist"),
    ],
)  # fmt: skip
def test_configuration_that_is_not_simulated_is_refused(objects: list[Made], said: str | None) -> None:
    if said is None:
        assert read_configuration(objects).root.children["a"].is_leaf
        return
    with pytest.raises(ConfigurationError, match=said):
        read_configuration(objects)


def daemon(name: str, node: str, kind: str = "DaemonSet", gpus: int = 1) -> str:
    """A pod of namespace `b` that requires a node by name."""
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "agent", "uid": "agent", "controller": True}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "b", "ownerReferences": [owner]},
        "spec": {
            "schedulerName": "yunikorn",
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
            "containers": [{"name": "m", "resources": {"limits": {GPU: str(gpus)}}}],
        },
    }
    return f"- {{at: 10s, duration: 1h, manifest: {json.dumps(pod)}}}\n"


THREE = "workloads:\n- {name: borrower, namespace: a, pods: 3, gpus: 1, duration: 1h, kind: Job}\n"
"""The first node is full, and the second has a free GPU."""


def test_pod_of_a_daemon_set_evicts_at_once_from_its_node_whatever_the_guarantees() -> None:
    queues = config_map(queue("a", 4), queue("b", 0), preemption={"enabled": False})
    history = run(TWO + THREE + daemon("agent-1", "gpu-0000"), queues, A, B)
    (evicted,) = [fact for fact in facts(history, "evicted", "borrower") if fact.by == "agent-1"]
    assert (evicted.at_s, evicted.node) == (10.0, "gpu-0000")
    assert evicted.why == "the pod of a DaemonSet must run on gpu-0000"
    (bound,) = facts(history, "bound", "agent-1")
    assert bound.node == "gpu-0000"


@pytest.mark.parametrize(
    ("kind", "more"), [("Agent", ""), ("DaemonSet", "- {name: x, namespace: a, gpus: 1, duration: 1h}\n")]
)
def test_pod_waits_without_a_daemon_set_or_room_in_its_queue(kind: str, more: str) -> None:
    queues = config_map(queue("a", 4), queue("b", 0))
    history = run(TWO + "until: 5m\n" + THREE + more + daemon("agent-1", "gpu-0000", kind), queues, A, B)
    assert not facts(history, "evicted", "borrower")


def test_pod_of_a_daemon_set_that_exceeds_its_node_stops_the_requests_after_it() -> None:
    later = "- {name: later, namespace: b, pods: 1, gpus: 1, at: 20s, duration: 1m, kind: Job}\n"
    queues = config_map(queue("a", 2), queue("b", 2))
    history = run(TWO + "until: 5m\nworkloads:\n" + daemon("agent-1", "gpu-0001", gpus=3) + later, queues, A, B)
    assert not facts(history, "bound", "later")
    history = run(TWO + "until: 5m\nworkloads:\n" + daemon("agent-1", "gpu-0001", gpus=2) + later, queues, A, B)
    assert facts(history, "bound", "later")
