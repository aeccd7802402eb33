"""Pods whose pod group exists, while its watch has not delivered it yet: the watches of kinds are independent."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_runtime.kube.errors import Refused
from apportion_runtime.kube.object_cache import ObjectCache
from apportion_runtime.kube.resources import POD_GROUP

from .api_server import ApiServer, Rejection, running
from .memory_cluster import Memory, run_cycle
from .objects import NOW, TRAIN, node, pod, pod_group, queue

TEAM = queue("team", None, 4)
OWNER = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "metadata": {"name": "gang", "namespace": "team", "uid": "uid-owner"},
    "spec": {},
}


def _member(number: int) -> dict[str, Any]:
    made = pod(f"gang-{number}", "team", 1, **{"pod-group-name": "gang"})
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "gang", "uid": "uid-owner", "controller": True}
    made["metadata"]["ownerReferences"] = [reference]
    return made


def test_pods_are_not_moved_to_another_group_before_theirs_is_delivered() -> None:
    cluster = Memory(node("n1", 4), TRAIN, TEAM, OWNER, _member(0), _member(1))
    cluster.undelivered = {(POD_GROUP, "team", "gang")}
    assert run_cycle(cluster, NOW).faults == ()
    assert [name for kind, _, name in cluster.held if kind == POD_GROUP] == []
    assert [cluster.node_of(f"gang-{number}") for number in range(2)] == [None, None]
    cluster.create(pod_group("gang", "team", 2))
    run_cycle(cluster, NOW + 1)
    assert [cluster.node_of(f"gang-{number}") for number in range(2)] == ["n1", "n1"]


def test_pods_of_a_group_that_does_not_exist_are_grouped_by_their_owner() -> None:
    cluster = Memory(node("n1", 4), TRAIN, TEAM, OWNER, _member(0))
    run_cycle(cluster, NOW)
    assert [name for kind, _, name in cluster.held if kind == POD_GROUP] == ["pg-gang-uid-owner"]


@pytest.mark.parametrize("name", ["mistyped", ""])
def test_pod_without_owners_reports_that_its_group_does_not_exist(name: str) -> None:
    cluster = Memory(node("n1", 4), TRAIN, TEAM, pod("a", "team", 1, **{"pod-group-name": name}))
    for second in range(2):
        result = run_cycle(cluster, NOW + second)
        assert (result.waiting, result.faults) == (["team/a"], ())
    why = f"pod group `{name}` does not exist; create it, or remove the annotation pod-group-name"
    assert cluster.told == {"a": why}
    assert cluster.events == [("a", "Unschedulable", why)]
    if name:
        cluster.create(pod_group(name, "team", 1))
        assert run_cycle(cluster, NOW + 2).bound == ["team/a"]


@pytest.mark.parametrize("labels", [{}, {"spark-app-name": "etl", "spark-app-selector": "spark-1"}])
def test_deleted_group_of_a_pod_without_owners_is_created_again(labels: dict[str, str]) -> None:
    single = pod("a", "team", 1)
    single["metadata"]["labels"].update(labels)
    cluster = Memory(node("n1", 4), TRAIN, TEAM, single)
    run_cycle(cluster, NOW)
    ((key, created),) = [(key, made) for key, made in cluster.held.items() if key[0] == POD_GROUP]
    del cluster.held[key]
    result = run_cycle(cluster, NOW + 1)
    assert cluster.held[key]["spec"] == created["spec"]
    assert ([one.allocated for one in result.queues], result.faults) == ([1.0], ())


def test_running_pod_whose_owner_and_group_were_deleted_first_keeps_its_devices() -> None:
    running, waiting = _member(0), _member(1)
    running["spec"]["nodeName"], running["status"]["phase"] = "n1", "Running"
    cluster = Memory(node("n1", 1), TRAIN, TEAM, running, waiting, pod("next", "team", 1))
    result = run_cycle(cluster, NOW)
    assert cluster.node_of("next") is None
    assert "gang-0" not in cluster.told
    assert "failed to find ReplicaSet: <team/gang>" in cluster.told["gang-1"]
    (fault,) = result.faults
    assert fault.message == "pod group `gang` does not exist; the pod counts towards its node only, not towards a queue"
    # Garbage collection has reached the pod: its group is not missed.
    cluster.held["Pod", "team", "gang-0"] = {
        **running,
        "metadata": {**running["metadata"], "deletionTimestamp": "2025-11-21T07:00:00Z"},
    }
    result = run_cycle(cluster, NOW + 1)
    assert result.faults == ()
    assert cluster.node_of("next") is None


def test_what_is_stored_is_read_from_the_api_server() -> None:
    server = ApiServer()
    with running(server) as connection:
        cache = ObjectCache(connection)
        assert not cache.is_stored(POD_GROUP, "team", "gang")
        server.add(pod_group("gang", "team", 2))
        assert cache.is_stored(POD_GROUP, "team", "gang")
        server.answer = lambda _: Rejection(400, "invalid field selector")
        assert not cache.is_stored(POD_GROUP, "team", "not/a name")
        server.answer = lambda _: Rejection(410, "expired")
        with pytest.raises(Refused, match="expired"):
            cache.is_stored(POD_GROUP, "team", "gang")
    (read,) = {sent.path for sent in server.sent}
    assert read == "/apis/scheduling.run.ai/v2alpha2/namespaces/team/podgroups"
