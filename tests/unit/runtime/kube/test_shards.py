"""Several schedulers in one cluster: each writes only the objects of its own shard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion_runtime.kube.cluster_records import ClusterRecords
from apportion_runtime.kube.cycle_result import CycleResult
from apportion_runtime.kube.pending_reasons import PendingReasons
from apportion_runtime.kube.pod_grouping import GroupedPods
from apportion_runtime.kube.status_updates import StatusUpdates

from .memory_cluster import Memory, run_cycle
from .objects import NOW, TRAIN, node, pod, queue
from .sharing_pods import GROUP, group_labels, report_devices, reservations, sharing, sharing_cluster

KEY = "kai.scheduler/node-pool"


def _shard(name: str, partition: str | None) -> dict[str, Any]:
    spec = {"partitionLabelValue": partition} if partition else {}
    return {"apiVersion": "kai.scheduler/v1", "kind": "SchedulingShard", "metadata": {"name": name}, "spec": spec}


def _in(partition: str, made: dict[str, Any]) -> dict[str, Any]:
    metadata = made["metadata"]
    return {**made, "metadata": {**metadata, "labels": {**metadata.get("labels", {}), KEY: partition}}}


def _cluster(*more: dict[str, Any]) -> Memory:
    return Memory(
        TRAIN,
        _shard("rest", None),
        _shard("a", "a"),
        node("n1", 4),
        _in("a", node("n2", 4)),
        queue("all", None, 4),
        queue("nlp", "all", 2),
        _in("a", queue("all-a", None, 4)),
        _in("a", queue("nlp-a", "all-a", 2)),
        pod("p", "nlp", 2),
        _in("a", pod("p-a", "nlp-a", 2)),
        *more,
    )


def _cycle(cluster: Memory, now: float, shard: str) -> CycleResult:
    """Run a cycle of another process, which remembers nothing of earlier ones."""
    cluster.reasons, cluster.statuses, cluster.records = PendingReasons(), StatusUpdates(), ClusterRecords()
    cluster.grouped = GroupedPods()
    return run_cycle(cluster, now, shard=shard)


def _status(cluster: Memory) -> Mapping[str, Any]:
    return {
        name: held["status"] for (kind, _, name), held in cluster.held.items() if kind == "Queue" if "status" in held
    }


def _groups(cluster: Memory) -> list[str]:
    return sorted(held["spec"]["queue"] for (kind, _, _), held in cluster.held.items() if kind == "PodGroup")


def test_scheduler_of_a_shard_writes_only_its_pods_groups_and_queues() -> None:
    cluster = _cluster()
    assert _cycle(cluster, NOW, "a").bound == ["team/p-a"]
    assert (cluster.node_of("p-a"), cluster.node_of("p")) == ("n2", None)
    assert _groups(cluster) == ["nlp-a"]
    _cycle(cluster, NOW + 1, "a")
    assert _status(cluster).keys() == {"all-a", "nlp-a"}


def test_scheduler_without_a_partition_writes_the_rest() -> None:
    cluster = _cluster()
    _cycle(cluster, NOW, "a")
    assert _cycle(cluster, NOW + 1, "rest").bound == ["team/p"]
    assert cluster.node_of("p") == "n1"
    assert _groups(cluster) == ["nlp", "nlp-a"]


def test_reason_of_an_unsupported_pod_is_reported_by_its_own_shard() -> None:
    claimed = _in("a", pod("claimed", "nlp-a", 1))
    claimed["spec"]["resourceClaims"] = [{"name": "gpu"}]
    cluster = _cluster(claimed)
    _cycle(cluster, NOW, "rest")
    assert "claimed" not in cluster.told
    _cycle(cluster, NOW + 1, "a")
    assert "resource claim `gpu`" in cluster.told["claimed"]


def test_schedulers_of_two_shards_leave_each_others_shared_gpus_alone() -> None:
    cluster = _cluster(sharing("half", queue="nlp"), _in("a", sharing("half-a", queue="nlp-a")))
    states = {shard: sharing_cluster().reservations for shard in ("a", "rest")}

    def cycle(at_s: int, shard: str) -> list[str]:
        cluster.reservations = states[shard]
        return _cycle(cluster, NOW + at_s, shard).bound

    for at_s, shard in enumerate(("a", "rest", "a", "rest")):
        cycle(at_s, shard)
        assert len(reservations(cluster)) == (1 if at_s == 0 else 2)
    report_devices(cluster)
    # A pod that its own scheduler has labelled and is about to bind.
    labels = {"metadata": {"labels": {GROUP: reservations(cluster)[0]["metadata"]["labels"][GROUP]}}}
    cluster.merge("Pod", "team", "half-a", labels)
    assert cycle(4, "rest") == ["team/half"]
    assert group_labels(cluster, "half-a") == labels["metadata"]["labels"]
    assert cycle(5, "a") == ["team/half-a"]


def test_pod_groups_of_another_shard_are_not_reported_as_missing() -> None:
    cluster = _cluster()
    _cycle(cluster, NOW, "rest")
    _cycle(cluster, NOW, "a")
    assert [_cycle(cluster, NOW + 1, shard).faults for shard in ("rest", "a")] == [(), ()]
