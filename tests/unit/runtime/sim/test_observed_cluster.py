"""A simulated cluster that starts from a snapshot, under every simulated engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.unit.review.fit_clusters import SIMULATED, START, bound, compiled, job, policy_for, snapshot

from apportion_cli.fit_inputs import model_of
from apportion_review.fit.probe import run
from apportion_runtime.admission.objects import name_of
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.observed.cluster import observed_cluster
from apportion_runtime.sim.observed.deadlines import ends_at
from apportion_runtime.sim.observed.workloads import Owner, observed_workloads
from apportion_runtime.sim.scenario.format import Scenario
from apportion_runtime.snapshots.quantities import parse_time

Made = dict[str, Any]


def places(objects: Sequence[Made]) -> dict[str, str | None]:
    return {name_of(made): made["spec"].get("nodeName") for made in objects if made["kind"] == "Pod"}


def resumed(engine: str, held: Sequence[Made], *, with_ends: bool = False) -> Cluster:
    model = model_of(engine)
    work = model.observe(held)
    if not with_ends:
        assert all(each.ends is None for each in work)
    cluster = observed_cluster(held, work, Scenario(start=START + 60), model, admit=lambda made: None)
    run(cluster, 3600)
    return cluster


@pytest.mark.parametrize("engine", SIMULATED)
def test_running_pods_keep_their_nodes(engine: str) -> None:
    cluster = compiled(policy_for(engine))
    works = [job("a", "speech", 2, 8), job("b", "vision", 1, 8), job("over", "speech", 4, 8)]
    held = snapshot(cluster, [bound(cluster, made) for made in works])
    before = {name: node for name, node in places(held).items() if node}
    found = resumed(engine, held)
    state = found.cluster_state
    assert {pod.name: pod.record.node for pod in state.pods.values() if pod.is_bound} == before
    assert state.history.taken == []


@pytest.mark.parametrize("engine", SIMULATED)
def test_pending_work_starts_when_it_fits(engine: str) -> None:
    cluster = compiled(policy_for(engine))
    held = snapshot(
        cluster, [bound(cluster, job("a", "speech", 2, 8)), bound(cluster, job("b", "vision", 2, 8))], nodes=3
    )
    waiting = {name for name, node in places(held).items() if node is None}
    more = next(made for made in held if made["kind"] == "Node")
    node = {**more, "metadata": {**more["metadata"], "name": "h100-0009"}}
    found = resumed(engine, [*held, node])
    names = {pod.name: pod.record.node for pod in found.cluster_state.pods.values()}
    assert all(names[name] == "h100-0009" or names[name] for name in waiting)
    assert sum(pod.is_bound for pod in found.cluster_state.pods.values()) == 4


def test_pending_kueue_workload_has_pods_of_its_object() -> None:
    cluster = compiled(policy_for("kueue"))
    held = snapshot(cluster, [bound(cluster, job("a", "speech", 2, 8)), bound(cluster, job("b", "speech", 2, 8))])
    assert {name_of(made)[:5] for made in held if made["kind"] == "Workload"} == {"job-a", "job-b"}
    ended = [made for made in held if not name_of(made).startswith(("a-", "job-a"))]
    found = resumed("kueue", ended)
    waited = next(each for each in found.cluster_state.history.workloads if each.name == "b")
    assert (waited.kind, waited.queue) == ("Job", "speech")
    assert sum(pod.is_bound for pod in found.cluster_state.pods.values()) == 2


@pytest.mark.parametrize("engine", SIMULATED)
def test_pending_work_starts_after_a_deadline(engine: str) -> None:
    cluster = compiled(policy_for(engine))
    works = [job("a", "speech", 2, 8, activeDeadlineSeconds=600), job("b", "vision", 2, 8)]
    held = snapshot(cluster, [bound(cluster, made) for made in works], nodes=2)
    for made in held:
        if made["kind"] == "Job" and name_of(made) == "a":
            made["status"] = {"startTime": "2026-11-30T00:53:20Z"}
    found = resumed(engine, held, with_ends=True)
    taken = {pod.name.split("-")[0] for pod in found.cluster_state.pods.values() if pod.is_bound}
    assert "b" in "".join(taken)
    ended = next(each for each in found.cluster_state.history.workloads if each.name == "a")
    assert ended.finished_s is not None
    assert ended.finished_s >= 480


def pod(name: str, owners: Sequence[Made] = (), **more: Any) -> Made:
    metadata = {"name": name, "namespace": "ns", "ownerReferences": list(owners)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}, "status": {}, **more}


def test_pods_belong_to_their_top_owner() -> None:
    cluster = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "c", "namespace": "ns", "ownerReferences": [{"kind": "RayJob", "name": "j"}]},
    }
    of_cluster = [{"kind": "RayCluster", "name": "c", "controller": True}]
    found = observed_workloads([cluster, pod("head", of_cluster), pod("worker", of_cluster), pod("alone")])
    assert {each.owner: len(each.pods) for each in found} == {
        Owner("ns", "j", "RayJob"): 2,
        Owner("ns", "alone", "Pod"): 1,
    }


def test_pod_without_owner_belongs_to_its_group() -> None:
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "pg", "namespace": "ns", "ownerReferences": [{"kind": "Job", "name": "train"}]},
    }
    made = pod("p")
    made["metadata"]["annotations"] = {"pod-group-name": "pg"}
    assert [each.owner for each in observed_workloads([group, made])] == [Owner("ns", "train", "Job")]


@pytest.mark.parametrize(
    ("owner", "pods", "after"),
    [
        (
            {"kind": "Job", "spec": {"activeDeadlineSeconds": 60}, "status": {"startTime": "2026-11-23T09:00:00Z"}},
            1,
            60,
        ),
        (
            {
                "apiVersion": "kubeflow.org/v1",
                "kind": "PyTorchJob",
                "spec": {"runPolicy": {"activeDeadlineSeconds": 90}},
                "status": {"startTime": "2026-11-23T09:00:00Z"},
            },
            1,
            90,
        ),
        ({"kind": "Job", "spec": {"activeDeadlineSeconds": 60}}, 1, None),
        ({"kind": "Job", "metadata": {"labels": {"kueue.x-k8s.io/max-exec-time-seconds": "30"}}}, 1, 30),
        ({"kind": "Job", "spec": {"activeDeadlineSeconds": "soon"}, "status": {"startTime": "x"}}, 1, None),
    ],
)
def test_end_time_requires_a_deadline(owner: Made, pods: int, after: float | None) -> None:
    begun = "2026-11-23T09:00:00Z"
    found = ends_at([owner], [pod("p", status={"startTime": begun})] * pods)
    assert found == (None if after is None else parse_time(begun) + after)


def test_end_time_requires_deadlines_of_all_pods() -> None:
    begun = {"startTime": "2026-11-23T09:00:00Z"}
    short, long = (pod("p", spec={"activeDeadlineSeconds": s}, status=begun) for s in (10, 20))
    assert ends_at([], [short, long]) == parse_time(begun["startTime"]) + 20
    assert ends_at([], [short, pod("q", status=begun)]) is None
