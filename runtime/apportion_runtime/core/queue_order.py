"""Which of two sibling queues comes first, each with the best job below it.

Source: pkg/scheduler/plugins/proportion/queue_order/queue_order.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from apportion_runtime.core.job import Job
from apportion_runtime.core.resources import Quantities, less_equal
from apportion_runtime.core.shares import QueueShare


class Side(NamedTuple):
    """A queue in a comparison, with the best job below it.

    Attributes:
        queue: Its allocations are those of now.
        request: What the next job below it asks for; nothing where victims are ordered.
        victims: Jobs that were already chosen below it, and the next one, where victims are ordered.
    """

    queue: QueueShare
    request: Quantities
    victims: Sequence[Job] = ()


def compare_queues(left: Side, right: Side, total: Quantities) -> int:
    """Return -1 where the left of two siblings comes first, otherwise 1; `total` is the cluster's capacity."""
    ours, theirs = left.queue, right.queue
    over_left, over_right = ours.is_over_fair_share(), theirs.is_over_fair_share()
    if over_left != over_right:
        return 1 if over_left else -1
    starved_left, starved_right = ours.fits_deserved(left.request), theirs.fits_deserved(right.request)
    if starved_left != starved_right:
        return -1 if starved_left else 1
    if ours.priority != theirs.priority:
        return -1 if ours.priority > theirs.priority else 1
    none_left, none_right = _uses_without_share(left), _uses_without_share(right)
    if none_left != none_right:
        return 1 if none_left else -1
    return _by_shares(left, right, total)


def _by_shares(left: Side, right: Side, total: Quantities) -> int:
    ours, theirs = left.queue, right.queue
    with_left, with_right = _dominant_share(left, total), _dominant_share(right, total)
    if with_left != with_right:
        return -1 if with_left < with_right else 1
    share_left, share_right = ours.dominant_share(ours.allocated, total), theirs.dominant_share(theirs.allocated, total)
    if share_left != share_right:
        return -1 if share_left < share_right else 1
    return _weaker(ours, theirs) or (-1 if ours.created < theirs.created else 1)


def _uses_without_share(side: Side) -> bool:
    queue = side.queue
    return any(
        share == 0 and used + more > 0
        for share, used, more in zip(queue.allocatable, queue.allocated, side.request, strict=True)
    )


def _dominant_share(side: Side, total: Quantities) -> float:
    queue = side.queue
    allocated = [used + more for used, more in zip(queue.allocated, side.request, strict=True)]
    for victim in side.victims:
        for r, amount in enumerate(victim.index.quantities(victim.allocated)):
            allocated[r] -= amount
    return queue.dominant_share(allocated, total)


def _weaker(left: QueueShare, right: QueueShare) -> int:
    a, b = tuple(left.allocatable), tuple(right.allocatable)
    a_fits, b_fits = less_equal(a, b), less_equal(b, a)  # type: ignore[arg-type]
    if a_fits and not b_fits:
        return -1
    return 1 if b_fits and not a_fits else 0
