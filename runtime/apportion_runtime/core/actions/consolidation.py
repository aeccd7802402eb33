"""Consolidate: move running pods to make room for a pending job, so that every moved pod is placed again.

Source: pkg/scheduler/actions/consolidation/consolidation.go, actions/utils/action.go.
"""

from __future__ import annotations

from itertools import chain

from apportion_runtime.core.actions.victim_actions import for_each_pending, has_pods_here, victim_order
from apportion_runtime.core.job import Job
from apportion_runtime.core.job_order import JobOrder
from apportion_runtime.core.queue_jobs import in_order
from apportion_runtime.core.resources import mig_slices
from apportion_runtime.core.session import Session
from apportion_runtime.core.solver.scenario import Scenario
from apportion_runtime.core.solver.search_state import VictimSearch
from apportion_runtime.core.solver.victim_bounds import may_free_enough_gpus
from apportion_runtime.core.solver.victim_search import solve
from apportion_runtime.core.statement import Statement
from apportion_runtime.core.status import RELEASING

_NO_BOUND = -1


def consolidate(session: Session) -> None:
    """Try every waiting preemptible job."""
    if session.settings.max_consolidation_preemptees == 0:
        return

    def attempt(job: Job) -> Statement | None:
        return _attempt(session, job)

    for_each_pending(session, "consolidation", attempt, by_queue=False, preemptible_only=True)


def _attempt(session: Session, job: Job) -> Statement | None:
    if not _enough_gpus(session, job):
        return None
    bound = session.settings.max_consolidation_preemptees
    others = [
        other
        for other in in_order(
            chain.from_iterable(queue_jobs.running().jobs for queue_jobs in session.queue_jobs.values())
        )
        if other.uid != job.uid and other.n_counted != 0 and has_pods_here(other)
    ]

    # The engine takes the first in the order of a map; here they are the first of the snapshot.
    candidates = others if bound == _NO_BOUND else others[: bound + 1]
    if not may_free_enough_gpus(session, job, candidates):
        return None

    def victims() -> JobOrder:
        return victim_order(session, candidates)

    return solve(session, VictimSearch(job, victims, _all_placed_anew, "consolidation"))


def _all_placed_anew(scenario: Scenario) -> bool:
    return all(task.status != RELEASING for task in scenario.victims())


def _enough_gpus(session: Session, job: Job) -> bool:
    """Return whether the free GPUs of all nodes together are enough."""
    nodes = session.nodes
    free = float(nodes.free_gpus()[nodes.ready].sum())
    free_memory = int(nodes.free_gpu_memory()[nodes.ready].sum())
    asked, asked_memory = 0.0, 0
    for task in job.tasks_to_allocate(real=False):
        asked += task.gpu.gpus + task.gpu.dra
        asked_memory += task.gpu.memory
        for name, count in task.gpu.mig:
            slices = mig_slices(name)
            if slices is not None:
                asked += slices[0] * count
                asked_memory += slices[1] * count
    return free >= asked and free_memory >= asked_memory
