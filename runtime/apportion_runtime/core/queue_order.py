"""The order of two sibling queues, each with the best job below it.

Source: pkg/scheduler/plugins/proportion/queue_order/queue_order.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apportion_runtime.core.queue_share import QueueShare
from apportion_runtime.core.resources import Quantities, less_equal

Key = tuple[bool, bool, int, bool, float, float]


def order_key(queue: QueueShare, request: Quantities, after: Sequence[float], total: Quantities) -> Key:
    """Return the key by which siblings are compared: the smaller comes first.

    Args:
        queue: The queue, with its current allocations.
        request: The request of the next job below it; zero in an order of victims.
        after: Its allocation with that job, or without the victims chosen below it.
        total: The cluster's capacity.
    """
    return (
        queue.is_over_fair_share(),
        not queue.fits_deserved(request),
        -queue.priority,
        _uses_without_share(queue, request),
        queue.dominant_share(after, total),
        queue.dominant_share(queue.allocated, total),
    )


def comes_first(left: QueueShare, right: QueueShare) -> bool:
    """Return whether the left of two siblings with equal keys comes first: the smaller share, then age."""
    a, b = left.allocatable, right.allocatable
    if a != b:
        a_fits, b_fits = less_equal(a, b), less_equal(b, a)
        if a_fits != b_fits:
            return a_fits
    return left.created < right.created


def _uses_without_share(queue: QueueShare, request: Quantities) -> bool:
    cpu, memory, gpu = queue.allocatable
    if cpu != 0 and memory != 0 and gpu != 0:
        return False
    return any(
        share == 0 and used + more > 0
        for share, used, more in zip(queue.allocatable, queue.allocated, request, strict=True)
    )
