"""Pods, pod groups and Deployments under Kueue: each pod is gated until its workload has quota."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from apportion_runtime.engines.kueue.model import MODEL as KUEUE
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.invariants import broken
from apportion_runtime.sim.scenario.reader import read_scenario

from .kueue_clusters import (
    FLAVORS,
    GPU,
    HIGH,
    NODES,
    cluster_of,
    configuration_of,
    engine_of,
    facts_of,
    job_of,
    moments_of,
    queue_of,
)

Made = dict[str, Any]
_GROUP, _SIZE = "kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-total-count"


def _pod(name: str, queue: str = "a", *, group: str = "", size: str = "", gpus: int = 1) -> Made:
    labels = {"kueue.x-k8s.io/queue-name": queue, **({_GROUP: group} if group else {})}
    asked = {"requests": {GPU: gpus}, "limits": {GPU: gpus}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "labels": labels,
            "annotations": {_SIZE: size} if size else {},
        },
        "spec": {"containers": [{"name": "main", "image": "busybox", "resources": asked}], "restartPolicy": "Never"},
    }


def _of_pods(pods: list[tuple[str, Made]], *objects: Made) -> Cluster:
    works = [{"file": made["metadata"]["name"], "at": at, "duration": "10m"} for at, made in pods]
    by_name = {made["metadata"]["name"]: made for _, made in pods}
    text = NODES + yaml.safe_dump({"workloads": works})
    return Cluster(
        [*FLAVORS, *objects], read_scenario(text, lambda name: [by_name[name]], KUEUE.workload_labels), KUEUE
    )


def test_pod_is_gated_until_admitted() -> None:
    cluster = cluster_of(
        [job_of("first", "a", "0s", 1, kind="Pod"), job_of("second", "a", "1m", 1, kind="Pod")], *queue_of("a", 1)
    )
    history = cluster.run()
    assert moments_of(history, "first", "admitted") == [0.0]
    assert moments_of(history, "second", "admitted") == [602.0], "when the first has done its work"
    assert [fact.why for fact in facts_of(history, "second", "finished")] == ["succeeded"]
    (waiting,) = facts_of(history, "second", "waiting")
    assert "insufficient unused quota for nvidia.com/gpu" in waiting.why
    assert not engine_of(cluster).units
    assert not broken(cluster.cluster_state, cluster.workloads.running)


def test_each_deployment_pod_is_a_workload() -> None:
    jobs = [job_of("serve", "a", "0s", 3, kind="Deployment", lifetime="20m")]
    cluster = cluster_of(jobs, *queue_of("a", 2), until="10m")
    history = cluster.run()
    assert len(facts_of(history, "serve", "queued")) == 3
    assert len(facts_of(history, "serve", "bound")) == 2, "two have quota"
    workloads = cluster.cluster_state.store.list("Workload")
    assert {made["metadata"]["ownerReferences"][0]["kind"] for made in workloads} == {"Pod"}
    gated = [made for made in cluster.cluster_state.store.list("Pod") if made["spec"].get("schedulingGates")]
    assert [made["spec"]["schedulingGates"] for made in gated] == [[{"name": "kueue.x-k8s.io/admission"}]]


def test_preempted_deployment_pod_is_recreated_and_waits() -> None:
    jobs = [
        job_of("serve", "a", "0s", 2, kind="Deployment", lifetime="1h"),
        job_of("urgent", "a", "1m", 1, priority="high"),
    ]
    pods_class = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 9,
    }
    cluster = cluster_of(jobs, HIGH, pods_class, *queue_of("a", 2))
    history = cluster.run()
    assert [each.rule for each in history.taken] == ["InClusterQueue"]
    assert len(facts_of(history, "serve", "queued")) == 3, "the pod that takes the place of the one that went"
    assert len(facts_of(history, "serve", "admitted")) == 3, "it gets its quota when the urgent job is over"
    assert not engine_of(cluster).units
    assert not broken(cluster.cluster_state, cluster.workloads.running)


def test_pod_group_is_admitted_when_complete() -> None:
    pods = [("0s", _pod("one", group="g", size="2")), ("5m", _pod("two", group="g", size="2", gpus=2))]
    cluster = _of_pods(pods, *queue_of("a", 3))
    history = cluster.run()
    assert [fact.why for fact in facts_of(history, "one", "waiting")] == [
        "'g' group has fewer runnable pods than expected: 1 of 2"
    ]
    assert [fact.at_s for fact in history.facts if fact.what == "bound"] == [300.0, 300.0]
    assert [fact.why for fact in facts_of(history, "one", "queued")] == ["Created Workload: ns/g"]
    assert not engine_of(cluster).units


def test_pod_group_waits_as_a_whole() -> None:
    pods = [("0s", _pod(name, group="g", size="2")) for name in ("one", "two")]
    history = _of_pods(pods, *queue_of("a", 1)).run()
    assert not [fact for fact in history.facts if fact.what == "bound"]


def test_quota_of_finished_group_pods_is_released() -> None:
    pods = [("0s", _pod("one", group="g", size="2")), ("0s", _pod("two", group="g", size="2")), ("1m", _pod("next"))]
    cluster = _of_pods(pods, *queue_of("a", 2))
    history = cluster.run()
    assert moments_of(history, "next", "admitted") == [602.0]


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        (_pod("p", group="g"), f"metadata.annotations[{_SIZE}]: Required value: both the"),
        (_pod("p", size="2"), f"metadata.labels[{_GROUP}]: Required value: both the"),
        (_pod("p", group="g", size="0"), 'Invalid value: "0": group total count should be greater than zero'),
    ],
)
def test_incomplete_group_labels_are_refused(pod: Made, said: str) -> None:
    history = _of_pods([("0s", pod)], *queue_of("a", 1)).run()
    (refused,) = facts_of(history, "p", "refused")
    assert said in refused.why


def test_excess_group_pod_is_refused() -> None:
    pods = [("0s", _pod(name, group="g", size="1")) for name in ("one", "two")]
    history = _of_pods(pods, *queue_of("a", 2)).run()
    (refused,) = facts_of(history, "two", "refused")
    assert refused.why.startswith(
        "pod group ns/g already has the maximum number of pods, 1 (kueue.x-k8s.io/pod-group-total-count);"
    )


@pytest.mark.parametrize("kind", ["Pod", "Deployment"])
def test_kind_without_integration_is_refused(kind: str) -> None:
    config = configuration_of(integrations={"frameworks": ["batch/job"]})
    history = cluster_of([job_of("serve", "a", "0s", 1, kind=kind, lifetime="1h")], config, *queue_of("a", 2)).run()
    (refused,) = facts_of(history, "serve", "refused")
    assert refused.why == (
        f"{kind} ns/serve has a queue label, but Kueue does not manage it: Kueue's configuration does not list "
        f"`{kind.lower()}` in integrations.frameworks; add it to the list"
    )


def test_pods_without_queue_stay_gated_if_managed() -> None:
    config = configuration_of(manageJobsWithoutQueueName=True)
    jobs = [job_of("loose", "", "0s", 1, kind="Pod"), job_of("serve", "", "0s", 1, kind="Deployment", lifetime="30m")]
    history = cluster_of(jobs, config, *queue_of("a", 2), until="1h").run()
    assert not [fact for fact in history.facts if fact.what == "bound"]
    assert [fact.why for fact in facts_of(history, "loose", "waiting")] == [
        "Pod has no label kueue.x-k8s.io/queue-name; Kueue keeps it gated"
    ]


def test_cron_job_jobs_are_queued() -> None:
    template = _pod("p")["spec"]
    job = {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "a"}}, "spec": {"template": {"spec": template}}}
    cron = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": "ns", "labels": {"kueue.x-k8s.io/queue-name": "a"}},
        "spec": {"schedule": "*/20 * * * *", "jobTemplate": job},
    }
    text = NODES + yaml.safe_dump({"workloads": [{"file": "c", "at": "0s", "duration": "5m"}], "until": "50m"})
    scenario = read_scenario(text, lambda name: [cron], KUEUE.workload_labels)
    history = Cluster([*FLAVORS, *queue_of("a", 1)], scenario, KUEUE).run()
    made = [facts for facts in history.workloads if facts.kind == "Job"]
    assert {(facts.queue, facts.outcome) for facts in made} == {("a", "succeeded")}
