"""The rules of reclaim: the reclaimer stays within its share, and the reclaimee exceeds its own.

Source: pkg/scheduler/plugins/proportion/proportion.go, reclaimable/ (reclaimable.go, filter_victims.go, strategies/).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from apportion_runtime.core.job import Job
from apportion_runtime.core.queue_share import QueueShare
from apportion_runtime.core.resources import (
    CPU,
    GPU,
    MEMORY,
    UNLIMITED,
    Quantities,
    Vector,
    accounted,
    less_equal,
    plus,
)
from apportion_runtime.core.session import Session
from apportion_runtime.core.solver.scenario import Scenario
from apportion_runtime.core.status import ACTIVE_ALLOCATED_STATUSES
from apportion_runtime.core.task import Task


class Reclaimer(NamedTuple):
    """The reclaimer: its queue, whether it is preemptible, and what its next step requests."""

    queue: str
    preemptible: bool
    vector: Vector
    request: Quantities


def reclaimer_of(session: Session, job: Job) -> Reclaimer:
    """Return a job as the reclaimer."""
    memory = session.min_device_memory
    return Reclaimer(job.queue, job.preemptible, job.init_vector(memory), job.init_request(memory))


def can_reclaim(session: Session, job: Job) -> bool:
    """Return whether a job may reclaim: within its queue's fair share, and within the quota if non-preemptible."""
    queue = session.shares.queues[job.queue]
    request = job.init_request(session.min_device_memory)
    if not less_equal(plus(accounted(queue.allocated), request), accounted(queue.fair)):
        return False
    return job.preemptible or less_equal(plus(accounted(queue.allocated_np), request), accounted(queue.deserved))


def may_be_victim(session: Session, reclaimer: Reclaimer, queue: str, judged: dict[str, bool]) -> bool:
    """Return whether the reclaimer may reclaim anything from a queue.

    Decided by their ancestors at the first level where they differ; `judged` caches the answers for one reclaimer by
    the ancestor on the other side.
    """
    queues = session.shares.queues
    if queue not in queues:
        return True
    ours, theirs = queues[reclaimer.queue].path[-1], queues[queue].path[-1]
    if ours is theirs:
        ours, theirs = siblings(queues, reclaimer.queue, queue)
    known = judged.get(theirs.name)
    if known is None:
        known = judged[theirs.name] = _has_to_give(ours, theirs, reclaimer)
    return known


def _has_to_give(ours: QueueShare, theirs: QueueShare, reclaimer: Reclaimer) -> bool:
    if not ours.fits_deserved(reclaimer.request):
        return not _within_allocatable(theirs, theirs.allocated)
    is_under = False
    for r, asked in enumerate(reclaimer.request):
        quota = theirs.deserved[r]
        if asked <= 0 or quota == UNLIMITED:
            continue
        if theirs.allocated[r] > quota:
            return True
        is_under = is_under or theirs.allocated[r] < quota
    return not is_under


def siblings(queues: Mapping[str, QueueShare], ours: str, theirs: str) -> tuple[QueueShare, QueueShare]:
    """Return the queues above two leaves at the first level from the top where they differ."""
    left, right = queues[ours].path[::-1], queues[theirs].path[::-1]
    pair = (left[0], right[0])
    for pair in zip(left, right, strict=False):
        if pair[0].name != pair[1].name:
            break
    return pair


def is_fair(session: Session, scenario: Scenario, frozen: Mapping[str, QueueShare]) -> bool:
    """Return whether a reclaim is valid, by the shares before the search.

    Args:
        session: The session.
        scenario: The reclaimer and its victims; victims that were placed again are no loss to their queue.
        frozen: The queues before the search.
    """
    reclaimer = reclaimer_of(session, scenario.preemptor)
    blocks: dict[str, list[Vector]] = {}
    for job_id, tasks in scenario.victims_by_job().items():
        job = session.jobs[job_id]
        found = _blocks(job, tasks, ignore_placed=session.settings.allow_consolidating_reclaim)
        if found:
            blocks.setdefault(job.queue, []).extend(found)
    left = _take(session, reclaimer, blocks, frozen)
    return left is not None and _stays_balanced(session, reclaimer, *left, frozen)


def _blocks(job: Job, tasks: Sequence[Task], *, ignore_placed: bool) -> list[Vector]:
    """Return what a job loses, in the pieces that are checked: each surplus pod, then the rest as one."""
    by_set: dict[str, list[Task]] = {}
    for task in tasks:
        by_set.setdefault(task.pod_set, []).append(task)
    surplus: list[Task] = []
    core: list[Task] = []
    for name, own in by_set.items():
        needed = job.pod_sets[name].min_available
        core += own[:needed]
        surplus += own[needed:]
    pieces = [[task] for task in surplus] + [core]
    sums = (_sum(piece, ignore_placed=ignore_placed) for piece in pieces)
    return [total for total in sums if total is not None]


def _sum(tasks: Sequence[Task], *, ignore_placed: bool) -> Vector | None:
    lost = [t.accepted for t in tasks if not (ignore_placed and t.status & ACTIVE_ALLOCATED_STATUSES)]
    return sum(lost[1:], start=lost[0].copy()) if lost else None


_Remaining = dict[str, list[float]]
_Involved = dict[str, set[int]]


def _take(
    session: Session, reclaimer: Reclaimer, blocks: Mapping[str, Sequence[Vector]], frozen: Mapping[str, QueueShare]
) -> tuple[_Remaining, _Involved] | None:
    remaining: _Remaining = {}
    involved: _Involved = {}
    for name, losses in blocks.items():
        ours, theirs = siblings(frozen, reclaimer.queue, name)
        involved[name] = {r for loss in losses for r in (CPU, MEMORY, GPU) if loss[r] > 0}
        left = remaining.setdefault(theirs.name, list(theirs.allocated))
        for loss in losses:
            above_share = not _within_allocatable(theirs, left)
            owed = ours.fits_deserved(reclaimer.request) and not less_equal(accounted(left), accounted(theirs.deserved))
            if not above_share and not owed:
                return None
            amounts = session.resources.quantities(loss)
            for queue in frozen[name].path:
                rest = remaining.setdefault(queue.name, list(queue.allocated))
                for r, amount in enumerate(amounts):
                    rest[r] -= amount
                involved.setdefault(queue.name, set()).update(involved[name])
    return remaining, involved


def _stays_balanced(
    session: Session,
    reclaimer: Reclaimer,
    remaining: _Remaining,
    involved: _Involved,
    frozen: Mapping[str, QueueShare],
) -> bool:
    """Return whether the reclaimer ends up, level by level, less saturated than the reclaimee."""
    own = {r for r in (CPU, MEMORY, GPU) if reclaimer.vector[r] > 0}
    for queue in frozen[reclaimer.queue].path:
        after = list(remaining.get(queue.name, queue.allocated))
        after = [used + asked for used, asked in zip(after, reclaimer.request, strict=True)]
        if queue.name in remaining:
            remaining[queue.name] = after
        for name, rest in remaining.items():
            sibling = frozen[name]
            if sibling.parent != queue.parent or name == queue.name:
                continue
            for r in involved.get(name, set()) | own:
                if _oversaturates(session, after[r], queue.fair[r], rest[r], sibling.fair[r]):
                    return False
        if not reclaimer.preemptible and not less_equal(
            plus(accounted(queue.allocated_np), reclaimer.request), accounted(queue.deserved)
        ):
            return False
    return True


def _oversaturates(session: Session, ours: float, our_share: float, theirs: float, their_share: float) -> bool:
    if our_share == UNLIMITED and their_share == UNLIMITED:
        return False
    ratio = _saturation(ours, our_share)
    against = _saturation(theirs, their_share)
    return ratio > 1 and their_share > 0 and ratio * session.settings.saturation_multiplier >= against


def _saturation(allocated: float, share: float) -> float:
    if share == 0:
        return math.inf if allocated > 0 else 0.0
    return 0.0 if share == UNLIMITED else allocated / share


def _within_allocatable(queue: QueueShare, allocated: Sequence[float]) -> bool:
    return less_equal(accounted(allocated), accounted(queue.allocatable))
