"""The loop over pending jobs that reclaim, preempt and consolidation share, and the order of their victims.

Source: pkg/scheduler/actions/reclaim, preempt, consolidation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from apportion_runtime.core.job import Job
from apportion_runtime.core.job_order import JobOrder
from apportion_runtime.core.pending_classes import class_outcomes
from apportion_runtime.core.session import Session
from apportion_runtime.core.solver.failure_cache import FailureCache
from apportion_runtime.core.statement import Statement
from apportion_runtime.core.status import ALIVE_STATUSES
from apportion_runtime.core.task import NO_NODE


def for_each_pending(
    session: Session,
    action: str,
    attempt: Callable[[Job], Statement | None],
    *,
    eligible: Callable[[Job], bool] = lambda job: True,
    has_victims: Callable[[Job], bool] = lambda job: True,
    by_queue: bool = True,
    preemptible_only: bool = False,
) -> None:
    """Try every pending job once, in order, and commit the solution of each.

    Args:
        session: The session.
        action: Its name, for the bound on jobs of a queue.
        attempt: Finds victims for a job.
        eligible: Whether the action may evict for a job at all.
        has_victims: Whether an attempt may find any victim for a job.
        by_queue: Whether the failure cache is kept per queue.
        preemptible_only: Whether only preemptible jobs are tried.
    """
    failed: dict[str, FailureCache] = {}

    def is_known_to_fail(job: Job) -> bool:
        smallest = failed.get(job.queue if by_queue else "")
        return smallest is not None and session.settings.use_scheduling_signatures and not smallest.is_easier(job)

    def may_ask(job: Job) -> bool:
        if (preemptible_only and not job.preemptible) or job.within_preemption_delay(session.now):
            return False
        return eligible(job) and not is_known_to_fail(job)

    left = class_outcomes(session, action, may_ask, has_victims)
    if not left:
        return
    jobs = list(session.ready_jobs(preemptible_only=preemptible_only, may_evict=True))
    order = JobOrder(
        session.shares,
        session.plugins,
        session.min_device_memory,
        depth=session.settings.queue_depth.get(action),
        # A job with running pods may lose some of them to another job in the meantime.
        jobs_change=any(job.n_active_allocated for job in jobs),
    )
    order.fill(jobs)
    # A commit also moves queues that are not at the head.
    is_changed = False
    while order and left:
        job = order.pop() if is_changed else order.pop_past(left)
        # `EveryJob` contains all jobs, so eligibility is checked here as well.
        if job.uid not in left or not eligible(job) or is_known_to_fail(job):
            continue
        left.take(job)
        left.narrow()
        unresolvable_task = next(
            ((t, why) for t in job.tasks_to_allocate(real=False) if (why := session.predicates.unresolvable(t))), None
        )
        if unresolvable_task is not None:
            session.reasons.unresolvable(job, *unresolvable_task)
            continue
        statement = attempt(job)
        if statement is None:
            failed.setdefault(job.queue if by_queue else "", FailureCache()).failed(job)
        else:
            statement.commit()
            left.changed()
            is_changed = True


def victim_order(session: Session, jobs: Iterable[Job]) -> JobOrder:
    """Return jobs as victims, the last in order first; the order is valid until the next call."""
    order = session.victims.cleared()
    order.fill(jobs)
    return order


def has_pods_here(job: Job) -> bool:
    """Return whether a job has a pending pod, or one on a node of the session."""
    return any(
        task.status & ALIVE_STATUSES and (task.node != NO_NODE or not task.pod.node) for task in job.tasks.values()
    )
