"""An upper bound on the GPUs that evictions free: without enough of them, a search for victims fails without a try.

A search begins with one pod of the job, and simulates only scenarios that pass the filters. The filter `IdleGpus` compares the
pod with the free devices of single nodes, which only grow as victims are added (`filters.py`). A search that fails on
this bound simulates nothing, so leaving it out has no effect on later ones.
"""

from __future__ import annotations

from collections.abc import Iterable

from apportion_runtime.core.job import Job
from apportion_runtime.core.session import Session
from apportion_runtime.core.status import ACTIVE_ALLOCATED_STATUSES
from apportion_runtime.core.task import NO_NODE

_ROUNDING = 1e-6
"""Devices: more than the rounding of sums of fractions, whose order differs from the filter's, and less than a fraction."""


def may_free_enough_gpus(session: Session, job: Job, victims: Iterable[Job]) -> bool:
    """Return whether a node has enough devices for the first pod of a job's next step once all victims are evicted."""
    tasks = job.tasks_to_allocate(real=False)
    if not tasks:
        return False
    wanted = tasks[0].gpu.quota - _ROUNDING
    if wanted <= 0:
        return True
    free = session.nodes.free_gpus()
    if len(free) and free.max() >= wanted:
        return True
    by_node: list[float] = free.tolist()
    for victim in victims:
        for task in victim.tasks.values():
            node = task.node
            if node != NO_NODE and task.status & ACTIVE_ALLOCATED_STATUSES:
                by_node[node] += task.accepted_gpu.quota
                if by_node[node] >= wanted:
                    return True
    return False
