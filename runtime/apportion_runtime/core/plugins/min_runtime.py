"""Minimum runtimes: jobs that have not run long enough to be evicted.

Source: pkg/scheduler/plugins/minruntime/ (minruntime.go, resolver.go).
"""

from __future__ import annotations

from collections import Counter

from apportion_runtime.core.job import Job
from apportion_runtime.core.queue_share import QueueShare
from apportion_runtime.core.session import Session
from apportion_runtime.core.solver.scenario import Scenario


def preempt_minimum(session: Session, victim: Job) -> float:
    """Return the preempt minimum runtime in seconds: that of the nearest ancestor that sets one."""
    queue = session.shares.queues.get(victim.queue)
    for above in queue.path if queue is not None else ():
        if above.preempt_min_runtime is not None:
            return above.preempt_min_runtime
    return session.settings.default_preempt_min_runtime


def has_reclaim_minima(session: Session) -> bool:
    """Return whether any queue sets a reclaim minimum runtime."""
    default = session.settings.default_reclaim_min_runtime
    return default > 0 or any(queue.reclaim_min_runtime is not None for queue in session.shares.queues.values())


def reclaim_minimum(session: Session, reclaimer: Job, victims: str) -> float:
    """Return the reclaim minimum runtime of a queue in seconds, by the configured method."""
    queues, default = session.shares.queues, session.settings.default_reclaim_min_runtime
    ours, theirs = queues.get(reclaimer.queue), queues.get(victims)
    if ours is None or theirs is None:
        return default
    path: tuple[QueueShare, ...] = theirs.path
    if session.settings.reclaim_resolve_method == "lca":
        own = {queue.name for queue in ours.path}
        if theirs.path[-1].name not in own:
            # Trees without a common ancestor: the victim's root decides.
            path = theirs.path[-1:]
        else:
            common = next(n for n, queue in enumerate(theirs.path) if queue.name in own)
            path = theirs.path[max(common - 1, 0) :]
    for queue in path:
        if queue.reclaim_min_runtime is not None:
            return queue.reclaim_min_runtime
    return default


def _is_young(session: Session, victim: Job, minimum: float) -> bool:
    return victim.last_start is not None and session.now < victim.last_start + minimum


def may_be_preempted(session: Session, victim: Job) -> bool:
    """Return whether a job is considered as a victim; an elastic job always is, for its surplus pods."""
    return victim.is_elastic or not _is_young(session, victim, preempt_minimum(session, victim))


def may_be_reclaimed(session: Session, victim: Job, minimum: float) -> bool:
    """Return whether a job with a reclaim minimum runtime is considered as a victim; an elastic job always is."""
    return not _is_young(session, victim, minimum) or victim.is_elastic


def keeps_minima(session: Session, scenario: Scenario, *, reclaim: bool) -> bool:
    """Return whether elastic jobs within their minimum runtime keep the minimum of each pod set."""
    for job_id, tasks in scenario.victims_by_job().items():
        job = session.jobs[job_id]
        if not job.is_elastic:
            continue
        preemptor = scenario.preemptor
        minimum = reclaim_minimum(session, preemptor, job.queue) if reclaim else preempt_minimum(session, job)
        if not _is_young(session, job, minimum):
            continue
        for name, n_victims in Counter(task.pod_set for task in tasks).items():
            pod_set = job.pod_sets[name]
            if pod_set.min_available > pod_set.n_used - n_victims:
                return False
    return True
