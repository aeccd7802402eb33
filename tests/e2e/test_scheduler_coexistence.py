"""The packaged scheduler beside others: kube-scheduler, KAI before and after it, and a scheduler of another shard."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from .control_plane import ControlPlane
from .kubectl import Kubectl, Object
from .live_scheduler import (
    NAMESPACE,
    PACKAGED,
    add_node,
    bind,
    bound,
    events,
    packaged_account,
    pod,
    pods,
    queue,
    scheduler,
    until,
)

pytestmark = pytest.mark.e2e

POOL = "kai.scheduler/node-pool"


def _status(cluster: Kubectl, name: str) -> dict[str, Any]:
    found: dict[str, Any] = cluster.get("queues.scheduling.run.ai", name).get("status", {})
    return found


def test_pods_of_another_scheduler_are_counted_on_nodes_and_never_changed(
    cluster: Kubectl, access: Path, tmp_path: Path
) -> None:
    log = tmp_path / "scheduler.log"
    for name in ("foreign-bound", "foreign-pending"):
        assert cluster.create(pod(name, "sched-nlp", 3, scheduler="default-scheduler")).accepted
    assert bind(cluster, "foreign-bound").accepted
    before = {name: one for name, one in pods(cluster).items() if name.startswith("foreign")}
    with scheduler(access, log):
        # Three of the four devices are in use.
        for name, gpus in (("two", 2), ("one", 1)):
            assert cluster.create(pod(name, "sched-nlp", gpus)).accepted
        until(lambda: bound(cluster), lambda found: found == {"foreign-bound", "one"}, log)
        until(lambda: events(cluster, "Unschedulable"), bool, log)
    assert {name: one for name, one in pods(cluster).items() if name in before} == before
    groups = cluster.get("podgroups.scheduling.run.ai", f"--namespace={NAMESPACE}")["items"]
    assert sorted(one["metadata"]["name"].split("-")[1] for one in groups) == ["one", "two"]


def _gang_of_kai(cluster: Kubectl) -> None:
    """Create a gang as KAI leaves it: grouped by its pod grouper, and bound."""
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": NAMESPACE},
        "spec": {"queue": "sched-nlp", "minMember": 2, "priorityClassName": "", "preemptibility": "preemptible"},
    }
    assert cluster.create(group).accepted
    for name in ("gang-0", "gang-1"):
        made = pod(name, "sched-nlp", 2)
        made["metadata"]["annotations"] = {"pod-group-name": "gang"}
        assert cluster.create(made).accepted
        assert bind(cluster, name).accepted


def test_gang_bound_by_kai_is_taken_over_whole_and_handed_back(cluster: Kubectl, access: Path, tmp_path: Path) -> None:
    log = tmp_path / "scheduler.log"
    _gang_of_kai(cluster)
    with scheduler(access, log):
        until(lambda: _status(cluster, "sched-nlp").get("allocated", {}).get("nvidia.com/gpu"), lambda n: n == "4", log)
        assert bound(cluster) == {"gang-0", "gang-1"}
        # The gang is above the guarantee of its queue, and is evicted as a whole.
        assert cluster.create(pod("vision", "sched-vision", 2)).accepted
        until(lambda: bound(cluster), lambda found: found == {"vision"}, log)
        until(lambda: events(cluster, "Reclaimed"), lambda found: len(found) == 2, log)
    assert {one["involvedObject"]["name"] for one in events(cluster, "Reclaimed")} == {"gang-0", "gang-1"}
    # What remains is what KAI reads: the pod's group and its queue; the lease is free.
    left = pods(cluster)["vision"]
    group = left["metadata"]["annotations"]["pod-group-name"]
    assert (
        cluster.get("podgroups.scheduling.run.ai", group, f"--namespace={NAMESPACE}")["spec"]["queue"] == "sched-vision"
    )
    assert "finalizers" not in left["metadata"]
    lease = cluster.get("lease", "apportion-scheduler", f"--namespace={PACKAGED.namespace}")
    assert lease["spec"]["holderIdentity"] == ""


def _shard(name: str, partition: str | None) -> Object:
    spec = {"partitionLabelValue": partition} if partition else {}
    return {"apiVersion": "kai.scheduler/v1", "kind": "SchedulingShard", "metadata": {"name": name}, "spec": spec}


def test_two_shards_are_scheduled_by_two_schedulers_that_write_only_their_own(
    plane: ControlPlane, cluster: Kubectl, tmp_path: Path
) -> None:
    labels = {POOL: "a"}
    made = [
        _shard("rest", None),
        _shard("a", "a"),
        queue("a-all", None, 4, 4, labels),
        queue("a-nlp", "a-all", 2, -1, labels),
    ]
    logs = {name: tmp_path / f"{name}.log" for name in ("rest", "a")}
    try:
        assert cluster.create(*made).accepted
        made.append(add_node(cluster, "sched-2", labels))
        both = replace(PACKAGED, shards=("rest", "a"))
        with packaged_account(plane, cluster, both) as access:
            of_a = pod("of-a", "a-nlp", 4)
            of_a["metadata"]["labels"] |= labels
            with scheduler(access, logs["a"], "--shard=a", lease="apportion-scheduler-a"):
                assert cluster.create(of_a, pod("of-rest", "sched-nlp", 4)).accepted
                until(lambda: bound(cluster, "sched-2"), lambda found: found == {"of-a"}, logs["a"])
                until(lambda: _status(cluster, "a-all").get("allocated"), bool, logs["a"])
                assert "pod-group-name" not in pods(cluster)["of-rest"]["metadata"].get("annotations", {})
                assert _status(cluster, "sched-all") == {}
                with scheduler(access, logs["rest"], "--shard=rest", lease="apportion-scheduler-rest"):
                    until(lambda: bound(cluster, "sched-1"), lambda found: found == {"of-rest"}, logs["rest"])
                    until(lambda: _status(cluster, "sched-all").get("allocated"), bool, logs["rest"])
        for log in logs.values():
            assert "rejected" not in log.read_text()
    finally:
        cluster.delete_objects(made)
