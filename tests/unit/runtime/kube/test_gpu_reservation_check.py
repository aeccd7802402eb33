"""When the check for reservation pods is repeated after it failed, on a clock of the test's own."""

from __future__ import annotations

from typing import Any

from apportion_runtime.kube.errors import Refused, Unreachable
from apportion_runtime.kube.gpu_reservation import ReservationSettings
from apportion_runtime.kube.gpu_reservation_check import ReservationCheck

from .memory_cluster import Memory


class UnreachableCluster(Memory):
    def create(self, manifest: dict[str, Any], *, dry_run: bool = False) -> dict[str, Any]:
        raise Unreachable("cannot reach the API server")


def test_failed_check_is_due_once_if_its_delay_ends_after_the_failure_was_returned_again() -> None:
    clock = [0.0]
    check = ReservationCheck(ReservationSettings("registry.example/reservation:v1"), lambda: clock[0])
    cluster = UnreachableCluster()
    failure = check.fault(cluster)
    assert (failure is not None, check.remaining_s()) == (True, 5.0)
    clock[0] = 4.9
    assert check.fault(cluster) == failure
    clock[0] = 5.1
    assert (check.remaining_s(), check.remaining_s()) == (0.0, None)


def test_rejected_check_is_repeated_after_times_that_double_until_the_namespace_is_created() -> None:
    clock = [0.0]
    check = ReservationCheck(ReservationSettings("registry.example/reservation:v1"), lambda: clock[0])
    cluster = Memory()
    cluster.refuses_creation = Refused(404, 'namespaces "kai-resource-reservation" not found')
    waits: list[float | None] = []
    for _ in range(6):
        assert check.fault(cluster) is not None
        waits.append(check.remaining_s())
        clock[0] += waits[-1] or 0
    assert waits == [5, 10, 20, 40, 60, 60]
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kai-resource-reservation"}})
    # Its service account may be created after it.
    cluster.refuses_creation = Refused(403, 'serviceaccount "kai-resource-reservation" not found')
    assert check.fault(cluster) is not None
    assert check.remaining_s() == 5
    clock[0] += 1
    cluster.refuses_creation = None
    assert check.fault(cluster) is not None
    clock[0] += 4
    assert check.fault(cluster) is None


def test_passed_check_is_repeated_when_the_namespace_is_deleted_and_created_again() -> None:
    check = ReservationCheck(ReservationSettings("registry.example/reservation:v1"), lambda: 0.0)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kai-resource-reservation"}}
    cluster = Memory()
    cluster.create(namespace)
    assert check.fault(cluster) is None
    del cluster.held["Namespace", "", "kai-resource-reservation"]
    cluster.refuses_creation = Refused(404, 'namespaces "kai-resource-reservation" not found')
    assert check.fault(cluster) is not None
    cluster.create(namespace)
    cluster.refuses_creation = None
    assert check.fault(cluster) is None


def test_failed_check_that_no_pod_needs_any_longer_is_not_due() -> None:
    clock = [0.0]
    check = ReservationCheck(ReservationSettings("registry.example/reservation:v1"), lambda: clock[0])
    assert check.fault(UnreachableCluster()) is not None
    clock[0] = 5.1
    assert check.remaining_s() is None
