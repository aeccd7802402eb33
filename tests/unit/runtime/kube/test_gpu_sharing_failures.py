"""Shared devices that cannot be reserved, or are lost: whole gangs or nothing, and no pod is evicted in vain."""

from __future__ import annotations

import math
from typing import Any

import pytest

from apportion_runtime.kube.errors import NotLeader, Origin, Refused
from apportion_runtime.kube.gang_reservations import GangReservations

from .memory_cluster import Memory, run_cycle
from .objects import NOW, pod, pod_group
from .sharing_pods import (
    GANG,
    GROUP,
    RESERVED,
    bind_all,
    end,
    group_labels,
    report_devices,
    reservations,
    sharing,
    sharing_cluster,
)


def _failing(cluster: Memory, how: str) -> str:
    if how == "timeout":
        cluster.clock_s += 40
        return "has not reported its device within 40 s"
    name = reservations(cluster)[0]["metadata"]["name"]
    if how == "deleted":
        del cluster.held["Pod", RESERVED, name]
        return "was deleted"
    cluster.merge_status("Pod", RESERVED, name, {"phase": "Failed", "reason": "UnexpectedAdmissionError"})
    return "ended in phase Failed (UnexpectedAdmissionError)"


@pytest.mark.parametrize(("how", "cause"), [("timeout", "timeout"), ("failed", "ended"), ("deleted", "deleted")])
def test_gang_whose_device_is_not_reserved_is_not_bound_and_reports_why(how: str, cause: str) -> None:
    gang = [pod("head", "team", 1, **GANG), sharing("worker", **GANG)]
    cluster = sharing_cluster(pod_group("gang", "team", 2), *gang)
    run_cycle(cluster, NOW)
    why = _failing(cluster, how)
    result = run_cycle(cluster, NOW + 1)
    assert result.bound == []
    # Nothing was written that the API server could have rejected.
    assert result.refused == []
    assert [(one.cause, "team/gang: no GPU can be reserved" in one.why) for one in result.unreserved] == [(cause, True)]
    (decision,) = result.decisions
    assert decision.fields["decision"] == "reservation-failed"
    assert decision.fields["cause"] == cause
    assert decision.endswith(f"{why}; next attempt in 10 s")
    assert ("gang", "ReservationFailed", str(decision)) in cluster.events
    assert reservations(cluster) == []
    run_cycle(cluster, NOW + 2)
    for name in ("head", "worker"):
        assert "no GPU can be reserved for pod worker" in cluster.told[name]
        assert why in cluster.told[name]
    # Its devices are free for other pods, and it is tried again after a delay.
    cluster.create(pod("whole", "team", 4))
    assert run_cycle(cluster, NOW + 3).bound == ["team/whole"]
    end(cluster, "whole")
    cluster.clock_s += 10
    run_cycle(cluster, NOW + 14)
    report_devices(cluster)
    assert len(run_cycle(cluster, NOW + 15).bound) == 2


def test_bound_pods_of_a_gang_are_taken_back_if_a_device_is_not_reserved() -> None:
    cluster = sharing_cluster(pod_group("gang", "team", 2), pod("head", "team", 1, **GANG))
    head = cluster.held["Pod", "team", "head"]
    cluster.held["Pod", "team", "head"] = {**head, "spec": {**head["spec"], "nodeName": "n1"}}
    cluster.create(sharing("worker", **GANG))
    run_cycle(cluster, NOW)
    cluster.clock_s += 40
    assert run_cycle(cluster, NOW + 40).evicted == ["team/head"]


def test_gang_is_decided_anew_if_one_of_its_pods_disappears_while_it_waits() -> None:
    cluster = sharing_cluster(pod_group("gang", "team", 2), pod("head", "team", 1, **GANG), sharing("worker", **GANG))
    run_cycle(cluster, NOW)
    del cluster.held["Pod", "team", "head"]
    report_devices(cluster)
    assert run_cycle(cluster, NOW + 1).bound == []
    assert reservations(cluster) == []
    cluster.create(pod("head", "team", 1, **GANG))
    run_cycle(cluster, NOW + 2)
    report_devices(cluster)
    assert len(run_cycle(cluster, NOW + 3).bound) == 2


def test_no_pod_is_evicted_if_the_api_server_does_not_accept_reservation_pods() -> None:
    cluster = sharing_cluster(*(pod(f"train-{n}", "team", 1) for n in range(4)))
    run_cycle(cluster, NOW)
    cluster.create(sharing("new", priority="inference"))
    cluster.refuses_creation = Refused(404, 'namespaces "kai-resource-reservation" not found')
    result = run_cycle(cluster, NOW + 1)
    assert (result.evicted, result.waiting) == ([], ["team/new"])
    assert 'reservation pods in namespace kai-resource-reservation: namespaces "kai-res' in cluster.told["new"]
    cluster.refuses_creation = None
    assert run_cycle(cluster, NOW + 2).evicted == []
    cluster.clock_s += 60
    assert len(run_cycle(cluster, NOW + 62).evicted) == 1


def test_pods_are_scheduled_as_soon_as_the_namespace_of_reservation_pods_exists() -> None:
    cluster = sharing_cluster(sharing("a"))
    cluster.refuses_creation = Refused(404, 'namespaces "kai-resource-reservation" not found')
    result = run_cycle(cluster, NOW)
    assert (result.waiting, result.next_attempt_s) == (["team/a"], 5)
    cluster.refuses_creation = None
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": RESERVED}})
    bind_all(cluster)
    assert cluster.node_of("a") == "n1"


def test_reservation_pod_that_is_rejected_after_the_check_is_counted_as_such() -> None:
    cluster = sharing_cluster(sharing("first", "0.9"), gpus=2)
    bind_all(cluster)
    cluster.create(sharing("a"))
    cluster.refuses_creation = Refused(403, "exceeded quota")
    result = run_cycle(cluster, NOW + 2)
    assert (result.refused, [one.cause for one in result.unreserved]) == ([], ["rejected"])


def test_no_pod_is_evicted_after_a_reservation_failed_until_one_succeeds() -> None:
    cluster = sharing_cluster(*(pod(f"train-{n}", "team", 1) for n in range(3)), sharing("first"))
    run_cycle(cluster, NOW)
    cluster.clock_s += 40
    run_cycle(cluster, NOW + 40)
    cluster.create(pod("train-3", "team", 1))
    assert run_cycle(cluster, NOW + 41).bound == ["team/train-3"]
    cluster.create(sharing("new", priority="inference"))
    assert run_cycle(cluster, NOW + 42).evicted == []
    run_cycle(cluster, NOW + 43)
    assert cluster.told["new"].startswith(
        "no pods are evicted for the gang until a GPU reservation succeeds; the last attempt"
    )
    # A device becomes free, and its reservation succeeds.
    end(cluster, "train-3")
    cluster.clock_s += 10
    bind_all(cluster)
    cluster.create(sharing("next", "0.9", priority="inference"))
    assert len(run_cycle(cluster, NOW + 55).evicted) == 1


def test_victim_that_is_not_evicted_for_a_shared_gpu_is_evicted_for_another_pod_in_the_next_cycle() -> None:
    cluster = sharing_cluster(sharing("first"), gpus=1)
    run_cycle(cluster, NOW)
    cluster.clock_s += 40
    run_cycle(cluster, NOW + 40)
    del cluster.held["Pod", "team", "first"]
    cluster.create(pod("train", "team", 1))
    run_cycle(cluster, NOW + 41)
    cluster.create(sharing("new", priority="inference"))
    cluster.create(pod("urgent", "team", 1, priority="inference"))
    result = run_cycle(cluster, NOW + 42)
    assert (result.evicted, result.next_cycle_s) == ([], 0)
    assert run_cycle(cluster, NOW + 43).evicted == ["team/train"]


def test_restart_while_a_reservation_is_awaited_deletes_it_and_decides_anew() -> None:
    cluster = sharing_cluster(sharing("a"))
    run_cycle(cluster, NOW)
    (former,) = reservations(cluster)
    assert cluster.reservations is not None
    cluster.reservations = GangReservations(cluster.reservations.settings, lambda: cluster.clock_s)
    bind_all(cluster)
    (present,) = reservations(cluster)
    assert present["metadata"]["name"] != former["metadata"]["name"]
    assert cluster.node_of("a") == "n1"


def test_labels_of_a_pod_that_was_not_bound_are_removed() -> None:
    labelled = sharing("a")
    labelled["metadata"]["labels"] |= {GROUP: "former", f"{GROUP}/other": "other"}
    cluster = sharing_cluster(labelled, pod("whole", "team", 4, on="n1"))
    run_cycle(cluster, NOW)
    assert group_labels(cluster, "a") == {}


def test_pod_is_not_given_a_device_that_pods_use_without_a_reservation() -> None:
    cluster = sharing_cluster(sharing("a"))
    bind_all(cluster)
    (reservation,) = reservations(cluster)
    cluster.delete(reservation)
    cluster.create(sharing("b"))
    result = run_cycle(cluster, NOW + 2)
    assert (result.bound, [one.cause for one in result.unreserved]) == ([], ["missing"])
    run_cycle(cluster, NOW + 3)
    assert "does not exist, although pods use its device" in cluster.told["b"]


def test_gang_of_which_one_bind_is_rejected_leaves_no_reservation_and_no_labels() -> None:
    cluster = sharing_cluster(pod_group("gang", "team", 2), sharing("one", **GANG), sharing("two", **GANG))
    cluster.refuses = {"two": Refused(403, "admission webhook denied the request")}
    bind_all(cluster)
    # The pod that was bound is evicted, and its owner would create it again.
    run_cycle(cluster, NOW + 2)
    assert set(cluster.evicted) <= {"one"}
    assert group_labels(cluster, "two") == {}
    assert reservations(cluster) == []


def test_pods_that_wait_for_a_device_are_victims_of_a_job_that_reclaims_it() -> None:
    cluster = sharing_cluster(sharing("a"), gpus=1)
    run_cycle(cluster, NOW)
    cluster.create(pod("urgent", "team", 1, priority="inference"))
    assert run_cycle(cluster, NOW + 1).evicted == ["team/a"]
    report_devices(cluster)
    assert run_cycle(cluster, NOW + 2).bound == ["team/urgent"]
    assert reservations(cluster) == []


def test_reservation_pod_that_an_overloaded_api_server_rejects_is_created_soon() -> None:
    cluster = sharing_cluster(sharing("first", "0.9"), gpus=2)
    bind_all(cluster)
    cluster.create(sharing("a"))
    cluster.refuses_creation = Refused(503, "overloaded")
    result = run_cycle(cluster, NOW + 2)
    assert result.refused == []
    assert [(one.cause, one.why.endswith("has not been created yet: overloaded")) for one in result.unreserved] == [
        ("unavailable", True)
    ]
    assert result.next_attempt_s <= 1
    cluster.refuses_creation = None
    run_cycle(cluster, NOW + 3)
    report_devices(cluster)
    assert run_cycle(cluster, NOW + 4).bound == ["team/a"]
    assert "a" not in cluster.told


def _lose_reservation(cluster: Memory) -> dict[str, Any]:
    bind_all(cluster)
    for name in ("a", "b"):
        cluster.merge_status("Pod", "team", name, {"phase": "Running"})
    (reservation,) = reservations(cluster)
    cluster.delete(reservation)
    return reservation


def test_running_pods_are_evicted_some_time_after_their_reservation_pod_is_gone() -> None:
    cluster = sharing_cluster(sharing("a"), sharing("b"))
    _lose_reservation(cluster)
    assert run_cycle(cluster, NOW + 2).evicted == []
    cluster.clock_s += 9
    assert run_cycle(cluster, NOW + 11).evicted == []
    cluster.clock_s += 1
    result = run_cycle(cluster, NOW + 12)
    assert sorted(result.evicted) == ["team/a", "team/b"]
    assert result.actions == ["reservation-lost"] * 2
    assert {event[:2] for event in cluster.events if event[1] == "ReservationLost"} == {
        ("a", "ReservationLost"),
        ("b", "ReservationLost"),
    }


def test_running_pods_whose_reservation_is_in_another_namespace_are_not_evicted() -> None:
    cluster = sharing_cluster(sharing("a"), sharing("b"))
    reservation = _lose_reservation(cluster)
    cluster.create({**reservation, "metadata": {**reservation["metadata"], "namespace": "other"}})
    for after_s in (0, 10, 20):
        cluster.clock_s += after_s
        assert run_cycle(cluster, NOW + 2 + after_s).evicted == []


def test_eviction_of_unreserved_pod_that_a_budget_protects_is_tried_again_later() -> None:
    cluster = sharing_cluster(sharing("a"), sharing("b"))
    _lose_reservation(cluster)
    cluster.keeps = {"a": Refused(429, "disruption budget", origin=Origin.BUDGET)}
    run_cycle(cluster, NOW + 2)
    cluster.clock_s += 10
    assert run_cycle(cluster, NOW + 12).evicted == ["team/b"]
    cluster.keeps = {}
    assert run_cycle(cluster, NOW + 13).evicted == []
    cluster.clock_s += 10
    assert run_cycle(cluster, NOW + 23).evicted == ["team/a"]


def test_gang_is_forgotten_when_leadership_is_lost_and_decided_anew_later() -> None:
    cluster = sharing_cluster(sharing("a"))
    run_cycle(cluster, NOW)
    (former,) = reservations(cluster)
    cluster.create(pod("whole", "team", 1))
    cluster.is_leader = False
    with pytest.raises(NotLeader):
        run_cycle(cluster, NOW + 1)
    cluster.is_leader = True
    report_devices(cluster)
    assert run_cycle(cluster, NOW + 2).bound == ["team/whole"]
    assert former["metadata"]["name"] not in {one["metadata"]["name"] for one in reservations(cluster)}
    report_devices(cluster)
    assert run_cycle(cluster, NOW + 3).bound == ["team/a"]


def test_pods_are_evicted_again_some_time_after_one_failure_if_reservations_have_worked() -> None:
    cluster = sharing_cluster(sharing("worked", "0.9"), gpus=2)
    bind_all(cluster)
    cluster.create(sharing("failed"))
    run_cycle(cluster, NOW + 2)
    cluster.clock_s += 40
    cluster.create(pod("train", "team", 1))
    run_cycle(cluster, NOW + 42)
    assert run_cycle(cluster, NOW + 43).bound == ["team/train"]
    cluster.create(sharing("urgent", priority="inference"))
    assert run_cycle(cluster, NOW + 44).evicted == []
    cluster.clock_s += 300
    assert len(run_cycle(cluster, NOW + 344).evicted) == 1


def test_check_of_an_overloaded_api_server_is_repeated_soon() -> None:
    cluster = sharing_cluster(*(sharing(name) for name in "abc"))
    cluster.refuses_creation = Refused(503, "overloaded")
    run_cycle(cluster, NOW)
    assert "cannot check whether the API server accepts reservation pods: overloaded" in cluster.told["a"]
    cluster.refuses_creation = None
    assert run_cycle(cluster, NOW + 1).next_attempt_s <= 5
    cluster.clock_s += 5
    bind_all(cluster)
    assert cluster.node_of("a") == "n1"


def test_failed_check_starts_no_cycles_once_no_pod_shares_gpus() -> None:
    cluster = sharing_cluster(sharing("a"))
    cluster.refuses_creation = Refused(404, 'namespaces "kai-resource-reservation" not found')
    assert run_cycle(cluster, NOW).next_attempt_s <= 60
    del cluster.held["Pod", "team", "a"]
    cluster.clock_s += 61
    assert run_cycle(cluster, NOW + 61).next_attempt_s == math.inf


@pytest.mark.parametrize("gang", [("pod",), ("pod", "share")], ids=["whole GPUs", "with a shared GPU"])
def test_no_pod_is_bound_to_a_node_whose_unused_reservation_cannot_be_deleted(gang: tuple[str, ...]) -> None:
    cluster = sharing_cluster(sharing("former"))
    bind_all(cluster)
    del cluster.held["Pod", "team", "former"]
    cluster.refuses_deletion = Refused(503, "overloaded")
    pods = (
        [pod("whole", "team", 3, **GANG), sharing("shared", **GANG)] if "share" in gang else [pod("whole", "team", 4)]
    )
    for one in (pod_group("gang", "team", len(pods)), *pods):
        cluster.create(one)
    for second in (2, 3):
        result = run_cycle(cluster, NOW + second)
        report_devices(cluster)
        assert (result.bound, len(result.refused)) == ([], 1)
        assert result.next_attempt_s <= 1
    # The kubelet would reject a pod that needs the device.
    assert len(reservations(cluster)) == 1
    cluster.refuses_deletion = None
    run_cycle(cluster, NOW + 4)
    report_devices(cluster)
    run_cycle(cluster, NOW + 5)
    assert cluster.node_of("whole") == "n1"


def test_device_of_a_pod_that_is_replaced_while_it_waits_is_released_before_another_is_reserved() -> None:
    cluster = sharing_cluster(sharing("a"), gpus=1)
    run_cycle(cluster, NOW)
    former = cluster.held.pop(("Pod", "team", "a"))
    cluster.create({**former, "metadata": {**former["metadata"], "uid": "recreated"}})
    cluster.refuses_deletion = Refused(503, "overloaded")
    run_cycle(cluster, NOW + 1)
    assert len(reservations(cluster)) == 1
    cluster.refuses_deletion = None
    bind_all(cluster)
    assert (len(reservations(cluster)), cluster.node_of("a")) == (1, "n1")
