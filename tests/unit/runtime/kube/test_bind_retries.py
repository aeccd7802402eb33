"""Binds that fail for now are repeated, and no other job gets the place of a gang's missing pods meanwhile."""

from __future__ import annotations

import pytest

from apportion_runtime.kube.bind_retries import RETRIED_S
from apportion_runtime.kube.errors import NotLeader, Origin, Refused, Unreachable

from .memory_cluster import Memory, run_cycle
from .objects import INFERENCE, NOW, TRAIN, node, pod, pod_group, queue
from .sharing_pods import GANG, bind_all, group_labels, reservations, sharing, sharing_cluster

CONFLICT = Refused(409, "the object has been modified")
FAILURES = [
    CONFLICT,
    Refused(503, "overloaded"),
    Refused(401, "Unauthorized", origin=Origin.ACCOUNT),
    Unreachable("connection refused"),
]


def _cluster(failure: Refused | Unreachable) -> Memory:
    """Return a cluster after a cycle in which the last bind of a gang failed, and a pod of another queue has arrived."""
    gang = [pod(f"gang-{number}", "team", 1, **{"pod-group-name": "gang"}) for number in range(4)]
    queues = queue("team", None, 8), queue("other", None, 8)
    cluster = Memory(node("n1", 4), TRAIN, INFERENCE, *queues, pod_group("gang", "team", 4), *gang)
    cluster.refuses = {"gang-3": failure}
    run_cycle(cluster, NOW)
    cluster.create(pod("rival", "other", 1))
    return cluster


def _bound(cluster: Memory) -> set[str]:
    pods = (one for (kind, _, _), one in cluster.held.items() if kind == "Pod")
    return {one["metadata"]["name"] for one in pods if one["spec"].get("nodeName")}


@pytest.mark.parametrize("failure", FAILURES, ids=str)
def test_no_other_job_gets_the_place_of_a_pod_whose_bind_failed(failure: Refused | Unreachable) -> None:
    cluster = _cluster(failure)
    for second in (1, 2):
        result = run_cycle(cluster, NOW + second)
        assert result.bound == []
        assert len(result.refused) == 1
        assert result.next_attempt_s <= 1
    assert "gang-3" not in cluster.told
    cluster.refuses = {}
    assert run_cycle(cluster, NOW + 3).bound == ["team/gang-3"]
    assert "rival" not in _bound(cluster)


def test_bind_is_given_up_after_some_time() -> None:
    cluster = _cluster(CONFLICT)
    for second in range(1, int(RETRIED_S) + 20):
        cluster.clock_s = second
        run_cycle(cluster, NOW + second)
        if "rival" in _bound(cluster):
            break
    assert second == RETRIED_S


def test_pod_that_is_deleted_leaves_its_place() -> None:
    cluster = _cluster(CONFLICT)
    del cluster.held["Pod", "team", "gang-3"]
    assert run_cycle(cluster, NOW + 1).bound == ["team/rival"]


def test_pod_of_the_same_name_is_not_bound_for_a_deleted_one() -> None:
    cluster = _cluster(CONFLICT)
    former = cluster.held.pop(("Pod", "team", "gang-3"))
    cluster.create({**former, "metadata": {**former["metadata"], "uid": "recreated", "annotations": {}}})
    cluster.create(pod("urgent", "other", 1, priority="inference"))
    cluster.refuses = {}
    assert run_cycle(cluster, NOW + 1).bound == ["team/urgent"]


def test_node_that_is_deleted_ends_the_retries() -> None:
    cluster = _cluster(CONFLICT)
    del cluster.held["Node", "", "n1"]
    cluster.create(node("n2", 1))
    cluster.refuses = {}
    run_cycle(cluster, NOW + 1)
    assert cluster.node_of("gang-3") != "n1"


def test_next_leader_decides_anew() -> None:
    cluster = _cluster(CONFLICT)
    cluster.is_leader = False
    with pytest.raises(NotLeader):
        run_cycle(cluster, NOW + 1)
    cluster.is_leader = True
    assert not cluster.retries.holds(cluster.held["Pod", "team", "gang-3"]["metadata"]["uid"])


def test_pod_that_becomes_a_victim_is_not_bound() -> None:
    cluster = _cluster(CONFLICT)
    cluster.create(pod("urgent", "team", 4, priority="inference"))
    cluster.refuses = {}
    result = run_cycle(cluster, NOW + 1)
    assert (result.bound, len(result.evicted)) == ([], 4)


def test_bind_that_is_permanently_rejected_later_takes_the_gang_back() -> None:
    cluster = _cluster(CONFLICT)
    cluster.refuses = {"gang-3": Refused(403, "denied", origin=Origin.ADMISSION)}
    run_cycle(cluster, NOW + 1)
    assert not any(name.startswith("gang") for name in _bound(cluster))
    assert run_cycle(cluster, NOW + 2).bound == ["team/rival"]


def test_pod_that_shares_a_gpu_keeps_its_device_while_its_bind_fails() -> None:
    gang = sharing("one", **GANG), sharing("two", "0.6", **GANG)
    cluster = sharing_cluster(pod_group("gang", "team", 2), *gang, gpus=2)
    cluster.refuses = {"two": CONFLICT}
    bind_all(cluster)
    cluster.create(pod("rival", "team", 1))
    run_cycle(cluster, NOW + 2)
    assert _bound(cluster) & {"one", "two", "rival"} == {"one"}
    labels = group_labels(cluster, "two")
    cluster.refuses = {}
    assert run_cycle(cluster, NOW + 3).bound == ["team/two"]
    assert group_labels(cluster, "two") == labels
    assert len(reservations(cluster)) == 2
