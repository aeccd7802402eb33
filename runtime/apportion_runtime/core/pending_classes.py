"""Equivalence classes of pending jobs: whether an action can still succeed for any job, evaluated once per class.

Hundreds of jobs that wait for a full cluster fall into few classes. An action that can succeed for none of the remaining
classes would skip job after job and only record why each is pending, so the action ends immediately if these reasons
are not needed (`Reasons.are_brief`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from apportion_runtime.core.capacity import over_capacity, requested
from apportion_runtime.core.job import Job
from apportion_runtime.core.node_ranking import best_of
from apportion_runtime.core.solver.failure_cache import signature
from apportion_runtime.core.status import PENDING

if TYPE_CHECKING:
    from apportion_runtime.core.session import Session

_Class = object
_Alike = dict[str, Job]
_Test = Callable[[Job], bool]
_PASSED_OVER, _BOUND_TO_FAIL, _MAY_SUCCEED = range(3)


class PendingClasses:
    """The pending jobs by class, kept from cycle to cycle."""

    def __init__(self) -> None:
        self.jobs: dict[_Class, _Alike] = {}
        self.class_by_job: dict[str, _Class] = {}
        # Those added or changed since their reasons were last recorded.
        self.unreported: _Alike = {}

    def holds(self, uid: str) -> bool:
        """Return whether a job is classified, or its reasons have to be recorded."""
        return uid in self.class_by_job or uid in self.unreported

    def refresh(self, session: Session) -> None:
        """Classify the jobs that changed since the last call."""
        active_jobs = session.active_jobs
        for uid in active_jobs.unclassified:
            self.unreported.pop(uid, None)
            class_ = self.class_by_job.pop(uid, None)
            if class_ is not None:
                self._detach(class_, uid)
            job = active_jobs.pending.get(uid)
            if job is not None and session.shares.holds_jobs_of(job.queue):
                class_ = self.class_by_job[uid] = _class_of(session, job)
                self.jobs.setdefault(class_, {})[uid] = job
                self.unreported[uid] = job
        active_jobs.unclassified = {}

    def take_unreported(self, session: Session) -> _Alike:
        """Return the jobs whose reasons must be recorded, by id, and forget those whose reasons are left out."""
        reasons = session.reasons
        self.unreported = {uid: job for uid, job in self.unreported.items() if reasons.is_reported(job)}
        return self.unreported

    def _detach(self, class_: _Class, uid: str) -> None:
        alike = self.jobs[class_]
        del alike[uid]
        if not alike:
            del self.jobs[class_]


class ClassOutcomes:
    """The jobs that an action has not tried yet, by class; the outcome of one job is that of its whole class.

    Args:
        session: The session.
        is_tried: Whether the action tries a job at all.
        may_succeed: Whether trying it may succeed.
    """

    def __init__(self, session: Session, is_tried: _Test, may_succeed: _Test) -> None:
        pending_classes = session.pending_classes
        pending_classes.refresh(session)
        self._session = session
        self._class_by_job = pending_classes.class_by_job
        self._is_tried, self._may_succeed = is_tried, may_succeed
        self._left = dict(pending_classes.jobs)
        self._taken: set[str] = set()
        # Outcomes by class until they are invalidated, and a class that may succeed.
        self._outcomes: dict[_Class, int] = {}
        self._one: _Class = None

    def __contains__(self, uid: object) -> bool:
        """Return whether the action tries a job."""
        return self._outcome(uid if uid in self._left else self._class_by_job[str(uid)]) != _PASSED_OVER

    def __bool__(self) -> bool:
        """Return whether any remaining job may succeed."""
        if self._outcomes.get(self._one) == _MAY_SUCCEED:
            return True
        for class_ in list(self._left):
            if self._outcome(class_) == _MAY_SUCCEED:
                self._one = class_
                return True
        return False

    def put(self, job: Job) -> None:
        """Put a tried job back in a separate class, because some of its pods are placed."""
        class_ = self._class_by_job.get(job.uid)
        alike = {uid: other for uid, other in self._left.pop(class_, {}).items() if uid != job.uid}
        if alike:
            self._left[class_] = alike
            self._outcomes.pop(class_, None)
        self._left[job.uid] = {job.uid: job}
        self._taken.discard(job.uid)
        self._outcomes.pop(job.uid, None)

    def take(self, job: Job) -> None:
        """Mark a job as tried."""
        self._taken.add(job.uid)
        self._outcomes.pop(job.uid if job.uid in self._left else self._class_by_job[job.uid], None)

    def narrow(self) -> None:
        """Invalidate the outcomes of jobs that may succeed: a failure or an allocation may rule them out."""
        self._outcomes = {class_: outcome for class_, outcome in self._outcomes.items() if outcome == _PASSED_OVER}

    def changed(self) -> None:
        """Invalidate all outcomes after a change of allocations."""
        self._outcomes.clear()

    def jobs_to_report(self) -> _Alike:
        """Return the jobs whose reasons must be recorded, by id."""
        unreported = self._session.pending_classes.take_unreported(self._session)
        return {uid: job for uid, job in unreported.items() if job.is_ready}

    def _outcome(self, class_: _Class) -> int:
        outcome = self._outcomes.get(class_)
        if outcome is None:
            outcome = self._outcomes[class_] = self._evaluate(class_)
        return outcome

    def _evaluate(self, class_: _Class) -> int:
        # The youngest is tried last.
        for uid, job in reversed(self._left[class_].items()):
            if uid not in self._taken:
                if not job.is_ready or not self._is_tried(job):
                    return _PASSED_OVER
                return _MAY_SUCCEED if self._may_succeed(job) else _BOUND_TO_FAIL
        del self._left[class_]
        return _PASSED_OVER


class EveryJob:
    """Outcomes without classes: every job is tried."""

    def __contains__(self, uid: object) -> bool:
        """Every job is tried."""
        return True

    def __bool__(self) -> bool:
        """Any job may succeed."""
        return True

    def put(self, job: Job) -> None:
        """Do nothing: no outcomes are kept."""

    def take(self, job: Job) -> None:
        """Do nothing: no outcomes are kept."""

    def narrow(self) -> None:
        """Do nothing: no outcomes are kept."""

    def changed(self) -> None:
        """Do nothing: no outcomes are kept."""

    def jobs_to_report(self) -> _Alike:
        """Return no job: trying each records its reasons."""
        return {}


def has_classes(session: Session, action: str) -> bool:
    """Return whether an action tries classes: neither are the reasons of each job recorded nor is the queue depth bounded."""
    return session.reasons.are_brief and session.settings.queue_depth.get(action) is None


def class_outcomes(
    session: Session, action: str, is_tried: _Test, may_succeed: _Test = lambda job: True
) -> ClassOutcomes | EveryJob:
    """Return the outcomes of the classes of pending jobs.

    Every job is tried if the reasons of each are recorded or the queue depth is bounded.
    """
    if not has_classes(session, action):
        return EveryJob()
    return ClassOutcomes(session, is_tried, may_succeed)


def may_be_placed(session: Session, job: Job) -> bool:
    """Return whether a job's next step may be placed; if not, trying it changes nothing.

    The answer holds until resources are released.
    """
    tasks = job.tasks_to_allocate(real=True)
    if not tasks:
        return False
    if session.keeps_shares and session.shares.is_bounded(job):
        request = requested(tasks, session.max_device_memory)
        if over_capacity(session.shares, job, request) is not None:
            return False
    # Other jobs may try another pod before the first.
    ranking = session.rankings.for_task(tasks[0]) if job.is_flat else None
    return ranking is None or best_of(ranking, session.nodes.all, session.nodes.all) is not None


def _class_of(session: Session, job: Job) -> _Class:
    """Return the equivalence class of a job: jobs of one class are placed alike, as all pods of all of them are."""
    if not job.is_flat or len(job.pod_sets) != 1 or not job.tasks or job.group.preemption_delay:
        return job.uid
    (pod_set,) = job.pod_sets.values()
    first = next(iter(job.tasks.values()))
    mask = session.predicates.mask(first)
    for task in job.tasks.values():
        pod = task.pod
        if task.status != PENDING or pod.claims or pod.nominated_node is not None:
            return job.uid
        if task is not first and (task.shape != first.shape or session.predicates.mask(task) is not mask):
            return job.uid
    asked = first.shape, id(mask), len(job.tasks), pod_set.min_available, job.root.threshold
    return job.queue, job.preemptible, job.priority, asked, signature(job)
