"""Pods that must run on one node: the pods of a DaemonSet.

Such a pod reserves its node at once, with others of its kind but without other requests, and evicts pods there if it does
not fit, whatever the guarantees of their queues, and even if preemption is disabled. The victims are chosen as if the node
were full: more may be evicted than the pod lacks.

Source: yunikorn-core pkg/scheduler/objects (required_node_preemptor.go; preemption_utilities.go, SortAllocations) at
be3bb487.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from apportion_runtime.engines.yunikorn.allocations import Allocation
from apportion_runtime.engines.yunikorn.amounts import Amounts, is_at_least_zero, is_positive, minus, plus
from apportion_runtime.engines.yunikorn.nodes import Node
from apportion_runtime.engines.yunikorn.stable_sort import stable_sort


def cancel_reservations(node: Node) -> None:
    """Remove the reservations of requests that do not require the node."""
    for other in list(node.reservations.values()):
        if not other.required_node:
            other.application.unreserve(other.key)


def victims_on_required_node(request: Allocation, node: Node) -> Sequence[Allocation]:
    """Return the allocations to evict from a request's node; empty if that does not help."""
    possible = [
        allocation
        for allocation in node.allocations.values()
        if not allocation.required_node
        and allocation.priority <= request.priority
        and not allocation.is_preempted
        and not request.amounts.keys().isdisjoint(allocation.amounts)
        and not allocation.is_released
    ]
    _sort(possible)
    freed: Amounts = {}
    victims: list[Allocation] = []
    for allocation in possible:
        if _covers(freed, request.amounts):
            break
        freed = plus(freed, allocation.amounts)
        victims.append(allocation)
    return victims if _covers(plus(freed, node.available), request.amounts) else ()


def _sort(allocations: list[Allocation]) -> None:
    """Sort by kind, priority and age, the newest first, and by size, which does not order all allocations."""

    def less(i: int, j: int) -> bool:
        left, right = allocations[i], allocations[j]
        ours, theirs = _rank(left), _rank(right)
        return ours < theirs if ours != theirs else not is_positive(minus(left.amounts, right.amounts))

    stable_sort(cast("list[object]", allocations), less)


def _rank(allocation: Allocation) -> tuple[int, int, float]:
    kind = 3 if allocation.is_originator else 1 if allocation.may_be_preempted else 2
    return kind, allocation.priority, -allocation.created[0]


def _covers(amounts: Amounts, asked: Amounts) -> bool:
    return is_at_least_zero(minus(amounts, asked))
