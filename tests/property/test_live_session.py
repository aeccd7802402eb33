"""The live scheduler decides in each cycle as on a cluster that it reads for the first time, whatever happened before."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import pytest

from apportion_runtime.core.cycle import run_actions
from apportion_runtime.core.decision_times import next_decision_time
from apportion_runtime.core.session import Session
from apportion_runtime.kube.backoffs import Backoffs
from apportion_runtime.kube.cluster import Change, key_of
from apportion_runtime.kube.decision_log_writer import DecisionLogWriter
from apportion_runtime.kube.object_store import ObjectStore
from apportion_runtime.kube.scheduler import Rejections, Scheduling, run_cycle
from apportion_runtime.kube.status_updates import StatusUpdate, StatusUpdates
from apportion_runtime.kube.victim_evictions import ProtectedVictims
from apportion_runtime.snapshots.decisions import decisions_document
from apportion_runtime.snapshots.document_loader import LocatedObject
from apportion_runtime.snapshots.faults import UNKNOWN_CLASS, UNKNOWN_GROUP, Fault, ObjectLocation
from apportion_runtime.snapshots.kubernetes.reader import read_cluster

from .live_cluster import OrderedWrites, StoredCluster
from .live_histories import START, History

pytestmark = pytest.mark.property
T = TypeVar("T")
_STEPS = 8
_PENDING = "the pod is not scheduled"
_FEW, _MANY = 40, 3000


def _outcome(session: Session) -> dict[str, Any]:
    """Return the decisions and their reasons, and what the next cycle depends on."""
    order = sorted(session.jobs.values(), key=lambda job: job.number)
    return {
        **decisions_document(session),
        "jobs": [(job.uid, job.last_start, job.stale_since, list(job.tasks)) for job in order],
        "errors": {
            job.uid: ([str(error) for error in job.fit_errors], {uid: e.text for uid, e in job.task_errors.items()})
            for job in order
        },
        "next": next_decision_time(session),
    }


def _named(faults: Iterable[Fault]) -> set[tuple[str, str, str]]:
    """Return faults by kind, object and message; a missing priority class is reported for any one of its pod groups."""
    return {(one.kind, "" if one.kind == UNKNOWN_CLASS else one.address, one.message) for one in faults}


class _Comparison(DecisionLogWriter):
    """Compares each cycle with a new session on the objects that it read.

    Attributes:
        faults: The faults of these objects.
    """

    fault = None

    def __init__(self) -> None:
        self.faults: set[tuple[str, str, str]] = set()

    def record(
        self, objects: ObjectStore, *, now: float, shard: str | None, protected: Collection[str], session: Session
    ) -> None:
        faults: list[Fault] = []
        found = [LocatedObject(copy.deepcopy(dict(one)), ObjectLocation(0, 0)) for one in objects.objects()]
        read = read_cluster(found, faults, now=now, shard=shard)
        anew = Session(read.snapshot, read.settings)
        anew.protect(protected)
        run_actions(anew)
        assert _outcome(session) == _outcome(anew)
        # The scheduler reports pending pods without a group on the pods themselves.
        self.faults = _named(one for one in faults if one.kind != UNKNOWN_GROUP or not one.message.endswith(_PENDING))


class _ComparedStatuses(StatusUpdates):
    """Compares the status updates of each cycle with those of the whole cluster."""

    def __init__(self, cluster: StoredCluster) -> None:
        super().__init__()
        self._cluster = cluster

    def of(self, changes: Sequence[Change]) -> Iterator[StatusUpdate]:
        updates = {(one.kind, one.namespace, one.name): one for one in super().of(changes)}
        everything = [Change(one["kind"], key_of(one), None, one) for one in self._cluster.objects()]
        assert updates == {(one.kind, one.namespace, one.name): one for one in StatusUpdates().of(everything)}
        yield from updates.values()


def _check_history(seed: int) -> int:
    """Compare each cycle of a history, and return the number of binds and evictions."""
    history, comparison, n_decided = History(seed), _Comparison(), 0
    clock = [0.0]
    pool = OrderedWrites()
    scheduling = Scheduling(
        history.cluster,
        pool,
        rejections=Rejections(
            Backoffs(10, 300, lambda: clock[0]), ProtectedVictims(Backoffs(10, 300, lambda: clock[0]))
        ),
        statuses=_ComparedStatuses(history.cluster),
        log=comparison,
    )
    reported: set[tuple[str, str, str]] = set()
    for _ in range(_STEPS):
        history.advance()
        clock[0] = history.now - START
        result = run_cycle(scheduling, history.now)
        pool.write_notes()
        n_decided += len(result.bound) + len(result.evicted)
        found = _named(result.faults)
        assert found <= comparison.faults
        # Each fault is reported once, until its object changes.
        reported = {one for one in reported if one in comparison.faults or one[0] == UNKNOWN_CLASS} | found
        assert comparison.faults <= reported | _named(result.cluster_faults)
    return n_decided


def test_cycles_of_any_history_decide_as_new_sessions() -> None:
    assert sum(map(_check_history, range(_FEW))) > _FEW / 2


@pytest.mark.slow
@pytest.mark.parametrize("first", range(_FEW, _MANY, 296))
def test_cycles_of_many_histories_decide_as_new_sessions(first: int) -> None:
    assert sum(map(_check_history, range(first, min(first + 296, _MANY)))) > 0
