"""Preempt: evict jobs of lower priority for a job of the same queue.

Source: pkg/scheduler/actions/preempt/preempt.go.
"""

from __future__ import annotations

from apportion_runtime.core.actions.victim_actions import for_each_pending, has_pods_here, victim_order
from apportion_runtime.core.capacity import over_quota, requested
from apportion_runtime.core.job import Job
from apportion_runtime.core.job_order import JobOrder
from apportion_runtime.core.plugins.min_runtime import keeps_minima, may_be_preempted
from apportion_runtime.core.session import Session
from apportion_runtime.core.solver.scenario import Scenario
from apportion_runtime.core.solver.search_state import VictimSearch
from apportion_runtime.core.solver.victim_bounds import may_free_enough_gpus
from apportion_runtime.core.solver.victim_search import solve
from apportion_runtime.core.statement import Statement


def preempt(session: Session) -> None:
    """Try every waiting job."""

    def attempt(job: Job) -> Statement | None:
        return _attempt(session, job)

    lowest: dict[str, int | None] = {}

    def has_victims(job: Job) -> bool:
        # A preemptor has a higher priority than its victims, so the lowest running priority never falls.
        if job.queue not in lowest:
            running = session.queue_jobs[job.queue].running().jobs
            lowest[job.queue] = min((other.priority for other in running), default=None)
        least = lowest[job.queue]
        if least is None or least >= job.priority or _is_over_quota(session, job):
            return False
        running = session.queue_jobs[job.queue].running().jobs
        return may_free_enough_gpus(session, job, (other for other in running if other.priority < job.priority))

    for_each_pending(session, "preempt", attempt, has_victims=has_victims)


def _is_over_quota(session: Session, job: Job) -> bool:
    if not session.keeps_shares:
        return False
    asked = requested(job.tasks_to_allocate(real=False), session.max_device_memory)
    return over_quota(session.shares, job, asked) is not None


def _attempt(session: Session, job: Job) -> Statement | None:
    if _is_over_quota(session, job):
        return None
    protects = "minruntime" in session.plugins
    candidates = [
        other
        for other in session.queue_jobs[job.queue].running().jobs
        if other.priority < job.priority
        and other.n_counted != 0
        and has_pods_here(other)
        and (not protects or may_be_preempted(session, other))
    ]
    if not may_free_enough_gpus(session, job, candidates):
        return None

    def victims() -> JobOrder:
        return victim_order(session, candidates)

    def validator(scenario: Scenario) -> bool:
        return not protects or keeps_minima(session, scenario, reclaim=False)

    return solve(session, VictimSearch(job, victims, validator, "preempt"))
