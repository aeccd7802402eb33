"""Take back from other queues what is theirs only while nobody with a better claim asks.

Source: pkg/scheduler/actions/reclaim/reclaim.go.
"""

from __future__ import annotations

from apportion_runtime.core.actions.evicting import for_each_waiting, running_preemptible, victim_order
from apportion_runtime.core.job import Job
from apportion_runtime.core.job_order import JobOrder
from apportion_runtime.core.plugins.min_runtime import keeps_minima, may_be_reclaimed, reclaim_minimum
from apportion_runtime.core.plugins.reclaim_rules import can_reclaim, is_fair, may_be_victim, reclaimer_of
from apportion_runtime.core.session import Session
from apportion_runtime.core.solver.scenario import Scenario
from apportion_runtime.core.solver.search import Hunt, solve
from apportion_runtime.core.statement import Statement


def reclaim(session: Session) -> None:
    """Try every waiting job whose queue is within its fair share."""
    if not session.keeps_shares:
        return

    def attempt(job: Job) -> Statement | None:
        return _attempt(session, job)

    for_each_waiting(session, "reclaim", attempt, eligible=lambda job: can_reclaim(session, job))


def _attempt(session: Session, job: Job) -> Statement | None:
    frozen = session.shares.frozen()

    def victims() -> JobOrder:
        return victim_order(session, _candidates(session, job))

    def validator(scenario: Scenario) -> bool:
        if not is_fair(session, scenario, frozen):
            return False
        return "minruntime" not in session.plugins or keeps_minima(session, scenario, reclaim=True)

    return solve(session, Hunt(job, victims, validator, "reclaim"))


def _candidates(session: Session, job: Job) -> list[Job]:
    reclaimer = reclaimer_of(session, job)
    protects = "minruntime" in session.plugins
    found: list[Job] = []
    for queue, jobs in session.jobs_by_queue.items():
        if queue == job.queue or not may_be_victim(session, reclaimer, queue):
            continue
        own = running_preemptible(jobs)
        if protects and own:
            minimum = reclaim_minimum(session, job, queue)
            own = [other for other in own if may_be_reclaimed(session, other, minimum)]
        found += own
    found.sort(key=lambda other: other.number)
    return found
