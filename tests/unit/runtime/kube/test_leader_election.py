"""Leader election: who may write, whatever clocks, pauses and rejected renewals do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from apportion_runtime.kube.api_writer import ApiWriter
from apportion_runtime.kube.connection import Connection
from apportion_runtime.kube.errors import NotLeader
from apportion_runtime.kube.leader_election import LeaderElection, LeaseTiming

from .api_server import ApiServer, Rejection, Sent, running
from .scheduler_thread import until

LEASE = "/apis/coordination.k8s.io/v1/namespaces/system/leases/scheduler"


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


class Patient(Connection):
    """Its requests wait longer than the candidates ask for: they do not fail on a slow machine."""

    def request(self, method: str, path: str, body: object = None, **more: Any) -> dict[str, Any]:
        return super().request(method, path, body, **{**more, "timeout_s": 60.0})


@pytest.fixture
def server() -> ApiServer:
    return ApiServer()


@pytest.fixture
def connection(server: ApiServer) -> Iterator[Connection]:
    with running(server) as connection:
        yield Patient(connection.configuration)


def _candidate(connection: Connection, holder: str, clock: Clock) -> LeaderElection:
    return LeaderElection(connection, "system", "scheduler", holder, clock=clock)


def test_candidate_waits_for_lease_duration_after_last_observed_renewal(
    connection: Connection,
) -> None:
    first, second = Clock(), Clock(500.0)
    one, two = _candidate(connection, "one", first), _candidate(connection, "two", second)
    assert one.try_acquire_or_renew()
    assert not two.try_acquire_or_renew()
    second.now += 14.9
    assert one.try_acquire_or_renew()
    assert not two.try_acquire_or_renew()
    second.now += 14.9
    assert not two.try_acquire_or_renew()
    second.now += 0.1
    assert two.try_acquire_or_renew()
    assert not one.try_acquire_or_renew()
    assert not one.is_leader


@pytest.mark.parametrize("renewed", ["1970-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z"])
def test_clock_of_lease_holder_is_ignored(server: ApiServer, connection: Connection, renewed: str) -> None:
    spec = {"holderIdentity": "other", "leaseDurationSeconds": 15, "renewTime": renewed, "leaseTransitions": 3}
    server.put(LEASE, {"metadata": {"name": "scheduler", "namespace": "system"}, "spec": spec})
    clock = Clock()
    candidate = _candidate(connection, "mine", clock)
    assert not candidate.try_acquire_or_renew()
    clock.now = 14.9
    assert not candidate.try_acquire_or_renew()
    clock.now = 15.0
    assert candidate.try_acquire_or_renew()
    assert server.held[LEASE]["spec"]["leaseTransitions"] == 4


def test_deleted_lease_is_held_by_its_leader_until_it_expires(server: ApiServer, connection: Connection) -> None:
    clock = Clock()
    one, two = _candidate(connection, "one", clock), _candidate(connection, "two", clock)
    assert one.try_acquire_or_renew()
    assert not two.try_acquire_or_renew()
    server.remove(LEASE)
    # The leader may write until its next renewal.
    assert not two.try_acquire_or_renew()
    assert one.is_leader
    assert one.try_acquire_or_renew()
    assert server.held[LEASE]["spec"]["holderIdentity"] == "one"
    assert not two.try_acquire_or_renew()
    server.remove(LEASE)
    clock.now = 15.0
    assert two.try_acquire_or_renew()


def test_lease_without_a_holder_is_acquired(server: ApiServer, connection: Connection) -> None:
    server.put(LEASE, {"metadata": {"name": "scheduler", "namespace": "system"}})
    assert _candidate(connection, "one", Clock()).try_acquire_or_renew()
    assert server.held[LEASE]["spec"]["holderIdentity"] == "one"


def test_leader_stops_writing_at_renew_deadline(connection: Connection) -> None:
    clock = Clock()
    one, two = _candidate(connection, "one", clock), _candidate(connection, "two", clock)
    assert one.try_acquire_or_renew()
    assert not two.try_acquire_or_renew()
    clock.now = 9.9
    # What it still sends is over before the other may acquire the lease.
    assert 0 < one.write_time_s <= 15 - 9.9
    clock.now = 10.0
    assert one.write_time_s == 0
    assert not two.try_acquire_or_renew()


def test_conflicting_renewal_is_retried(server: ApiServer, connection: Connection) -> None:
    one = _candidate(connection, "one", Clock())
    assert one.try_acquire_or_renew()

    def conflict(sent: Sent) -> Rejection | None:
        return Rejection(409, "modified") if sent.method == "PUT" else None

    server.answer = conflict
    assert not one.try_acquire_or_renew()
    assert one.is_leader
    server.answer = lambda sent: None
    assert one.try_acquire_or_renew()


def test_follower_sends_no_writes(server: ApiServer, connection: Connection) -> None:
    clock = Clock()
    election = _candidate(connection, "one", clock)
    writer = ApiWriter(connection, election)
    with pytest.raises(NotLeader):
        writer.write("POST", "/api/v1/namespaces/team/pods", {"metadata": {"name": "a"}})
    assert election.try_acquire_or_renew()
    writer.write("POST", "/api/v1/namespaces/team/pods", {"metadata": {"name": "a"}})
    clock.now = 10.0
    with pytest.raises(NotLeader):
        writer.write("POST", "/api/v1/namespaces/team/pods", {"metadata": {"name": "b"}})
    assert [sent.body["metadata"]["name"] for sent in server.written("POST", "/pods")] == ["a"]


def test_write_is_not_retried_after_lost_lease(server: ApiServer, connection: Connection) -> None:
    clock = Clock()
    election = _candidate(connection, "one", clock)
    assert election.try_acquire_or_renew()
    server.answer = lambda sent: Rejection(503, "overloaded")

    def pause(_: float) -> None:
        clock.now += 10

    with pytest.raises(NotLeader):
        ApiWriter(connection, election, pause).write("DELETE", "/api/v1/namespaces/team/pods/a")
    assert len(server.written("DELETE", "/a")) == 1


def test_lease_is_renewed_during_long_cycle_and_released_on_exit(server: ApiServer, connection: Connection) -> None:
    clock, timing = Clock(), LeaseTiming(lease_s=1.0, renew_deadline_s=0.6, retry_s=0.05)
    one, two = (
        LeaderElection(connection, "system", "scheduler", name, timing=timing, clock=clock) for name in ("one", "two")
    )
    one.start()
    until(lambda: one.is_leader)
    two.start()
    # Longer than the lease, with a renewal at every step.
    for _ in range(13):
        until(partial(_is_renewed, server, _n_renewals(server)))
        clock.now += 0.1
        assert (one.is_leader, two.is_leader) == (True, False)
    one.stop()
    assert one.write_time_s == 0
    # The lease does not expire: the clock stands still.
    until(lambda: two.is_leader)
    two.stop()
    assert server.held[LEASE]["spec"]["holderIdentity"] == ""


@pytest.mark.parametrize(
    ("status", "n_rejected", "outcome"),
    [
        (409, 2, "released"),
        (429, 2, "released"),
        (503, 2, "released"),
        (403, 1, "not released (no); it expires after 15 s"),
    ],
)
def test_release_is_repeated_after_temporary_failures(
    server: ApiServer, connection: Connection, status: int, n_rejected: int, outcome: str
) -> None:
    election = _candidate(connection, "one", Clock())
    assert election.try_acquire_or_renew()
    rejections = [Rejection(status, "no")] * n_rejected
    server.answer = lambda sent: rejections.pop() if sent.method == "PUT" and rejections else None
    assert election.stop() == outcome
    assert (server.held[LEASE]["spec"]["holderIdentity"] == "") == (outcome == "released")


def test_leader_with_rejected_renewals_never_overlaps_with_successor(server: ApiServer, connection: Connection) -> None:
    timing = LeaseTiming(lease_s=1.0, renew_deadline_s=0.5, retry_s=0.05)
    one, two = (LeaderElection(connection, "system", "scheduler", name, timing=timing) for name in ("one", "two"))
    one.start()
    until(lambda: one.is_leader)

    def reject(sent: Sent) -> Rejection | None:
        is_of_one = sent.method == "PUT" and sent.body["spec"]["holderIdentity"] == "one"
        return Rejection(503, "etcdserver: request timed out") if is_of_one else None

    server.answer = reject
    two.start()
    until(lambda: two.is_leader)
    both = one.is_leader
    one.stop()
    two.stop()
    assert not both
    assert one.fault is None or "etcdserver" in one.fault


@pytest.mark.parametrize(("lease", "deadline", "retry"), [(10, 10, 2), (15, 2, 2), (5, 10, 2)])
def test_renew_deadline_not_below_lease_duration_is_rejected(lease: float, deadline: float, retry: float) -> None:
    with pytest.raises(ValueError, match="renew deadline"):
        LeaseTiming(lease, deadline, retry)


def _n_renewals(server: ApiServer) -> int:
    return len(server.written("PUT", "/leases/scheduler"))


def _is_renewed(server: ApiServer, n_renewals: int) -> bool:
    return _n_renewals(server) > n_renewals
