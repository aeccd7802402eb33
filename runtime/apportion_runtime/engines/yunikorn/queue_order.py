"""The order in which queues and their applications are tried.

A parent tries its children by priority, then by the share of their guarantee that they use; a leaf tries its applications
by priority, then by age. While queues are sorted, YuniKorn looks up the maximum of a queue at its place before the sort:
queues that have moved are compared with each other's maximum.

Source: yunikorn-core pkg/scheduler/objects/sorters.go at be3bb487.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from apportion_runtime.engines.yunikorn.amounts import (
    Amounts,
    compare_shares,
    is_greater,
    is_positive,
    minus,
    usage_ratio,
)
from apportion_runtime.engines.yunikorn.applications import Application
from apportion_runtime.engines.yunikorn.queues import FAIR, Queue, QueueOrder
from apportion_runtime.engines.yunikorn.stable_sort import stable_sort


def ordered_queues(parent: Queue) -> Sequence[Queue]:
    """Return the child queues with pending requests in order; equal ones in the order of the configuration."""
    capacity, known = _capacity(parent), parent.order
    # Amounts are replaced, never changed.
    if (
        known is None
        or known.capacity is not capacity
        or not all(map(_is_same, parent.children.values(), known.children))
    ):
        children = [(child.allocated, child.pending, child.priority) for child in parent.children.values()]
        known = parent.order = QueueOrder(_sorted_queues(parent), capacity, children)
    return known.queues


def _capacity(queue: Queue) -> Amounts | None:
    while queue.parent is not None:
        queue = queue.parent
    return queue.maximum


def _is_same(child: Queue, known: tuple[Amounts, Amounts, int]) -> bool:
    return child.allocated is known[0] and child.pending is known[1] and child.priority == known[2]


def _sorted_queues(parent: Queue) -> list[Queue]:
    queues = [child for child in parent.children.values() if child.has_pending]
    if len(queues) < 2:
        return queues
    by_priority = parent.settings.sorts_by_priority
    if parent.settings.sort_policy != FAIR:
        return sorted(queues, key=lambda queue: -queue.priority) if by_priority else queues
    maxima = [queue.fair_maximum() for queue in queues]
    if all(maximum == maxima[0] for maximum in maxima):
        ranks = [
            (-queue.priority if by_priority else 0, usage_ratio(queue.allocated, queue.guaranteed, maxima[0]))
            for queue in queues
        ]
        if len(set(ranks)) == len(ranks):
            return [queue for _, queue in sorted(zip(ranks, queues, strict=True), key=lambda pair: pair[0])]

    def less(i: int, j: int) -> bool:
        left, right = queues[i], queues[j]
        if by_priority and left.priority != right.priority:
            return left.priority > right.priority
        ours = usage_ratio(left.allocated, left.guaranteed, maxima[i])
        theirs = usage_ratio(right.allocated, right.guaranteed, maxima[j])
        if ours != theirs:
            return ours < theirs
        if left.priority != right.priority:
            return left.priority > right.priority
        return is_greater(minus(left.pending, right.pending), {})

    stable_sort(cast("list[object]", queues), less)
    return queues


def ordered_applications(leaf: Queue, *, with_placeholders: bool = False) -> list[Application]:
    """Return the applications with pending requests in order; equal ones in the order of their arrival.

    Args:
        leaf: The queue.
        with_placeholders: Whether only applications with allocated placeholders are returned.
    """
    found = [
        application
        for application in leaf.applications.values()
        if is_positive(application.pending) and (application.has_placeholders or not with_placeholders)
    ]
    if len(found) < 2:
        return found
    by_priority = leaf.settings.sorts_by_priority
    if leaf.settings.sort_policy != FAIR:
        key: Callable[[Application], tuple[Any, ...]] = (
            (lambda a: (-a.priority, a.submitted))
            if by_priority
            else (lambda a: (a.submitted[0], -a.priority, a.submitted[1]))
        )
        return sorted(found, key=key)

    def less(i: int, j: int) -> bool:
        left, right = found[i], found[j]
        if by_priority and left.priority != right.priority:
            return left.priority > right.priority
        compared = compare_shares(left.allocated, right.allocated, leaf.guaranteed)
        return compared < 0 if compared else left.priority > right.priority

    stable_sort(cast("list[object]", found), less)
    return found
