"""Reclaim: evict jobs of queues above their quota or fair share for a job of a queue within its fair share.

`docs/scheduler.md` states the rule, and `plugins/reclaim_rules.py` implements it.

Source: pkg/scheduler/actions/reclaim/reclaim.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from apportion_runtime.core.actions.victim_actions import for_each_pending, victim_order
from apportion_runtime.core.job import Job
from apportion_runtime.core.job_order import JobOrder
from apportion_runtime.core.plugins.min_runtime import (
    has_reclaim_minima,
    keeps_minima,
    may_be_reclaimed,
    reclaim_minimum,
)
from apportion_runtime.core.plugins.reclaim_rules import can_reclaim, is_fair, may_be_victim, reclaimer_of
from apportion_runtime.core.queue_jobs import JobList
from apportion_runtime.core.session import Session
from apportion_runtime.core.solver.scenario import Scenario
from apportion_runtime.core.solver.search_state import VictimSearch
from apportion_runtime.core.solver.victim_bounds import may_free_enough_gpus
from apportion_runtime.core.solver.victim_search import solve
from apportion_runtime.core.statement import Statement


def reclaim(session: Session) -> None:
    """Try every waiting job whose queue is within its fair share."""
    if not session.keeps_shares:
        return

    def attempt(job: Job) -> Statement | None:
        return _attempt(session, job)

    for_each_pending(
        session,
        "reclaim",
        attempt,
        eligible=lambda job: can_reclaim(session, job),
        has_victims=lambda job: _has_victims(session, job),
    )


def _attempt(session: Session, job: Job) -> Statement | None:
    frozen = session.shares.frozen()
    candidates = list(_candidates(session, job))
    if not may_free_enough_gpus(session, job, chain.from_iterable(members.jobs for members in candidates)):
        return None

    def victims() -> JobOrder:
        order = victim_order(session, ())
        order.fill_by_queue(candidates)
        return order

    def validator(scenario: Scenario) -> bool:
        if not is_fair(session, scenario, frozen):
            return False
        return "minruntime" not in session.plugins or keeps_minima(session, scenario, reclaim=True)

    return solve(session, VictimSearch(job, victims, validator, "reclaim"))


def _has_victims(session: Session, job: Job) -> bool:
    victims = [victim for members in _candidates(session, job) for victim in members.jobs]
    return bool(victims) and may_free_enough_gpus(session, job, victims)


def _candidates(session: Session, job: Job) -> Iterator[JobList]:
    reclaimer = reclaimer_of(session, job)
    protects = "minruntime" in session.plugins and (session.starts_later or has_reclaim_minima(session))
    judged: dict[str, bool] = {}
    for queue, queue_jobs in session.queue_jobs.items():
        members = queue_jobs.running()
        if not members.jobs or queue == job.queue or not may_be_victim(session, reclaimer, queue, judged):
            continue
        if protects:
            minimum = reclaim_minimum(session, job, queue)
            if minimum > 0 or session.starts_later:
                old = [other for other in members.jobs if may_be_reclaimed(session, other, minimum)]
                if len(old) < len(members.jobs):
                    members = JobList(queue, old, [], are_alike=False)
        yield members
