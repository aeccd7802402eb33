"""Whether an action can still do anything for the jobs that wait, asked once of all that are of one kind.

Where hundreds wait for a full cluster they are of few kinds. An action that can do nothing for any kind that is left only
takes its jobs in turn and passes over them: of that nothing stays but why they wait, so that it may end at once where
nobody asks for that (`Reasons.are_brief`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from apportion_runtime.core.capacity import over_capacity, requested
from apportion_runtime.core.job import Job
from apportion_runtime.core.ranking import best_of
from apportion_runtime.core.solver.easier import signature
from apportion_runtime.core.status import PENDING

if TYPE_CHECKING:
    from apportion_runtime.core.session import Session

_Kind = object
_Alike = dict[str, Job]
_Test = Callable[[Job], bool]
_PASSED_OVER, _BOUND_TO_FAIL, _MAY_SUCCEED = range(3)


class Kinds:
    """The jobs with pods that wait, by kind, kept from cycle to cycle."""

    def __init__(self) -> None:
        self.jobs: dict[_Kind, _Alike] = {}
        self.kind_of: dict[str, _Kind] = {}
        # Those that came or changed since they were asked about last.
        self.unsaid: _Alike = {}

    def refresh(self, session: Session) -> None:
        """Look at the jobs that changed since it was last done."""
        interest = session.interest
        for uid in interest.stirred:
            self.unsaid.pop(uid, None)
            kind = self.kind_of.pop(uid, None)
            if kind is not None:
                self._leave(kind, uid)
            job = interest.pending.get(uid)
            if job is not None and session.shares.holds_jobs_of(job.queue):
                kind = self.kind_of[uid] = _kind(session, job)
                self.jobs.setdefault(kind, {})[uid] = job
                self.unsaid[uid] = job
        interest.stirred = {}

    def _leave(self, kind: _Kind, uid: str) -> None:
        alike = self.jobs[kind]
        del alike[uid]
        if not alike:
            del self.jobs[kind]


class Prospects:
    """Jobs that an action has not taken yet, by kind; what holds for one of a kind holds for all.

    Args:
        session: The session.
        is_tried: Whether the action tries a job at all.
        may_succeed: Whether trying it may come to anything.
    """

    def __init__(self, session: Session, is_tried: _Test, may_succeed: _Test) -> None:
        kinds = session.kinds
        kinds.refresh(session)
        self._session = session
        self._kind_of = kinds.kind_of
        self._is_tried, self._may_succeed = is_tried, may_succeed
        self._left = dict(kinds.jobs)
        self._taken: set[str] = set()
        # What was found out of kinds, as long as it holds, and one that may succeed.
        self._fates: dict[_Kind, int] = {}
        self._one: _Kind = None

    def __contains__(self, uid: object) -> bool:
        """Tell whether a job is tried when it is taken."""
        return self._fate(uid if uid in self._left else self._kind_of[str(uid)]) != _PASSED_OVER

    def __bool__(self) -> bool:
        """Tell whether trying any job that is left may come to anything."""
        if self._fates.get(self._one) == _MAY_SUCCEED:
            return True
        for kind in list(self._left):
            if self._fate(kind) == _MAY_SUCCEED:
                self._one = kind
                return True
        return False

    def put(self, job: Job) -> None:
        """Have a job wait again that was taken; it stands for itself, as part of it has its place."""
        self._left[job.uid] = {job.uid: job}
        self._taken.discard(job.uid)
        self._fates.pop(job.uid, None)

    def take(self, job: Job) -> None:
        """Have a job be tried, so that others may not be tried any more."""
        self._taken.add(job.uid)
        self._fates = {kind: fate for kind, fate in self._fates.items() if fate == _PASSED_OVER}

    def changed(self) -> None:
        """Have something be given or taken, so that any job may be tried."""
        self._fates.clear()

    def asked(self) -> _Alike:
        """Return the jobs by id of which it is still asked why they wait."""
        kinds, reasons = self._session.kinds, self._session.reasons
        kinds.unsaid = {uid: job for uid, job in kinds.unsaid.items() if reasons.is_asked(job)}
        return {uid: job for uid, job in kinds.unsaid.items() if job.is_ready}

    def _fate(self, kind: _Kind) -> int:
        fate = self._fates.get(kind)
        if fate is None:
            fate = self._fates[kind] = self._find_out(kind)
        return fate

    def _find_out(self, kind: _Kind) -> int:
        # Those that came last are taken last.
        for uid, job in reversed(self._left[kind].items()):
            if uid not in self._taken:
                if not job.is_ready or not self._is_tried(job):
                    return _PASSED_OVER
                return _MAY_SUCCEED if self._may_succeed(job) else _BOUND_TO_FAIL
        del self._left[kind]
        return _PASSED_OVER


class Everyone:
    """All jobs are tried."""

    def __contains__(self, uid: object) -> bool:
        """Tell that any job is tried."""
        return True

    def __bool__(self) -> bool:
        """Tell that trying any job may come to something."""
        return True

    def put(self, job: Job) -> None:
        """Have a job wait again that was taken."""

    def take(self, job: Job) -> None:
        """Have a job be tried."""

    def changed(self) -> None:
        """Have something be given or taken."""

    def asked(self) -> _Alike:
        """Return no job: all are tried."""
        return {}


def prospects(
    session: Session, action: str, is_tried: _Test, may_succeed: _Test = lambda job: True
) -> Prospects | Everyone:
    """Return what the jobs that wait may hope for.

    Where why they wait is noted of each, or some are left out, all are tried.
    """
    if not session.reasons.are_brief or session.settings.queue_depth.get(action) is not None:
        return Everyone()
    return Prospects(session, is_tried, may_succeed)


def may_be_placed(session: Session, job: Job) -> bool:
    """Tell whether a job's next step may find a place; where not, trying it leaves no trace.

    That stays as long as nothing is given back.
    """
    tasks = job.tasks_to_allocate(real=True)
    if not tasks:
        return False
    if session.keeps_shares:
        request = requested(tasks, session.max_device_memory)
        if over_capacity(session.shares, job, request) is not None:
            return False
    # Of other jobs another pod may be tried before the first.
    ranking = session.rankings.for_task(tasks[0]) if job.is_flat else None
    return ranking is None or best_of(ranking, session.nodes.all, session.nodes.all) is not None


def _kind(session: Session, job: Job) -> _Kind:
    """Return what jobs of a queue have in common that get a place, or take another's, where the others would."""
    if len(job.tasks) == 1 and job.is_flat and not job.group.preemption_delay:
        (task,) = job.tasks.values()
        pod = task.pod
        if task.status == PENDING and not pod.claims and pod.nominated_node is None:
            mask = session.predicates.mask(task)
            return job.queue, job.preemptible, task.shape, id(mask), signature(job)
    return job.uid
