"""Two replicas of the live scheduler, of which the leader is killed or paused between two binds of a gang."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from ..live_scheduler import until
from .cluster_state import read_state
from .fault_bed import LEASE, SYSTEM, FaultBed, check_process
from .fault_proxy import PASS, FaultProxy, Reaction, Request
from .gangs import Gang
from .held_binds import HeldBind
from .scheduler_process import Scheduler

pytestmark = pytest.mark.e2e

GANG = Gang("gang", 8, 4)
OTHERS = (Gang("other-0", 8, 4), Gang("other-1", 4, 8))
AFTER = Gang("after", 4, 4)
_LEASE_S = 5
_SETTINGS = {
    "leaderElection": {
        "lease": LEASE,
        "leaseDurationSeconds": _LEASE_S,
        "renewDeadlineSeconds": 3,
        "retryPeriodSeconds": 0.5,
    },
    # One bind after the other.
    "writeConcurrency": 1,
}
_LEASE_PATH = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/apportion-scheduler"
_AHEAD = """
import datetime, time
_time, _ahead = time.time, 60
class _Datetime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + datetime.timedelta(seconds=_ahead)
time.time, datetime.datetime = lambda: _time() + _ahead, _Datetime
"""
"""Sets the wall clock of a process a minute ahead."""


def _until_said(text: str, by: Scheduler) -> None:
    until(by.said, lambda said: text in said)


@contextlib.contextmanager
def _replicas(bed: FaultBed, *, second: str = "") -> Iterator[tuple[Scheduler, FaultProxy, Scheduler]]:
    """Run two replicas: the leader, which has a proxy of its own, and the other."""
    bed.stop_shared()
    bed.api.delete(_LEASE_PATH)
    with bed.started_on_own_proxy(_SETTINGS) as (leader, proxy):
        _until_said("became the leader", leader)
        with bed.started(_SETTINGS, start=second) as other:
            _until_said("initial list of cluster objects complete", other)
            yield leader, proxy, other


def test_gang_whose_leader_is_killed_between_two_binds_is_bound_by_the_next_leader(bed: FaultBed) -> None:
    # The held bind was never sent: its sender is dead.
    held = HeldBind(4, Reaction(503, "ServiceUnavailable"))
    with _replicas(bed) as (leader, proxy, other):
        proxy.fault = held
        bed.create(GANG)
        held.wait()
        assert sum(pod.node is not None for pod in read_state(bed.api).pods_of(GANG.name)) == 3
        leader.kill()
        held.release()
        bed.create(*OTHERS)
        bed.wait_bound(GANG, *OTHERS, by=other)
        check_process(other)


@pytest.mark.parametrize("is_late", [False, True], ids=["arrives at once", "arrives when another leads"])
def test_leader_that_is_paused_while_a_bind_is_on_its_way(is_late: bool, bed: FaultBed) -> None:
    held = HeldBind(4)
    with _replicas(bed) as (leader, proxy, other):
        proxy.fault = held
        bed.create(GANG)
        held.wait()
        leader.pause()
        if not is_late:
            held.release()
        bed.create(*OTHERS)
        state = bed.wait_bound(GANG, *OTHERS, by=other)
        held.release()
        sent = held.n_seen
        leader.resume()
        _until_said("lost leadership", leader)
        bed.create(AFTER)
        after = bed.wait_bound(GANG, *OTHERS, AFTER, by=other)
        # It sends none when it resumes.
        assert held.n_seen == sent
        assert set(state.pods) <= set(after.pods)
        check_process(leader)
        check_process(other)


def test_lease_that_is_deleted_while_gangs_are_bound(bed: FaultBed) -> None:
    def slow(request: Request) -> Reaction:
        return Reaction(delay_s=0.1) if request.is_bind else PASS

    with _replicas(bed) as (leader, proxy, other):
        proxy.fault = bed.proxy.fault = slow
        bed.create(GANG, *OTHERS)
        time.sleep(0.5)
        bed.api.delete(_LEASE_PATH)
        bed.wait_bound(GANG, *OTHERS, by=leader)
        # It was never free: the leader writes it again.
        assert "became the leader" not in other.said()
        bed.create(AFTER)
        bed.wait_bound(GANG, *OTHERS, AFTER, by=leader)
        check_process(leader)
        check_process(other)


def test_lease_that_another_holder_takes_stops_the_leader_between_two_binds(bed: FaultBed) -> None:
    with _replicas(bed) as (leader, proxy, other):
        proxy.fault = lambda request: Reaction(delay_s=0.3) if request.is_bind else PASS
        bed.create(GANG, *OTHERS)
        time.sleep(0.5)
        bed.api.request("PATCH", _LEASE_PATH, {"spec": {"holderIdentity": "somebody"}})
        _until_said("lost leadership", leader)
        assert any(pod.node is None for pod in read_state(bed.api).pods)
        proxy.fault = lambda _: PASS
        # The lease of a holder that never renews it expires.
        bed.wait_bound(GANG, *OTHERS, by=other)
        check_process(leader)
        check_process(other)


def test_replicas_whose_clocks_differ_by_a_minute(bed: FaultBed) -> None:
    with _replicas(bed, second=_AHEAD) as (leader, _, other):
        bed.create(GANG)
        state = bed.wait_bound(GANG, by=leader)
        time.sleep(_LEASE_S + 1)
        # By its clock, the lease expired long ago.
        assert "became the leader" not in other.said()
        leader.kill()
        bed.create(*OTHERS)
        after = bed.wait_bound(GANG, *OTHERS, by=other)
        assert set(state.pods) <= set(after.pods)
        renewed = datetime.fromisoformat(bed.api.request("GET", _LEASE_PATH)["spec"]["renewTime"])
        assert renewed - datetime.now(UTC) > timedelta(seconds=30), "the clock of the replica was not ahead"
        check_process(other)
