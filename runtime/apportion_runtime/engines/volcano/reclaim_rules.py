"""Reclaim between queues by the capacity plugin: which queues may reclaim, and from which others.

Source: pkg/scheduler/plugins/capacity/capacity.go at ed72c7c8 (AddPreemptiveFn, AddReclaimableFn,
getReclaimeeAncestorToCheck, sharesAnyNonRootAncestorWithinLevel).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from apportion_runtime.engines.volcano.amounts import (
    Amounts,
    common,
    exceeds_somewhere,
    fits,
    has_room_somewhere,
    minus,
    over,
    plus,
)
from apportion_runtime.engines.volcano.capacity import ROOT, Capacity, Queue

_MOST_KNOWN = 100_000


class Victim(Protocol):
    """A potential victim."""

    @property
    def queue(self) -> str:
        """The victim's queue."""
        ...

    @property
    def request(self) -> Amounts:
        """The victim's allocated resources."""
        ...


def may_reclaim(capacity: Capacity, name: str, request: Amounts) -> bool:
    """Return whether a queue may reclaim for a pod, by its own deserved resources or those of an ancestor."""
    queue = capacity.queues[name]
    if capacity.fault or not queue.spec.is_open:
        return False
    if over(plus(queue.allocated, request), queue.real, request):
        return False
    asked = [queue, *(above for above in levels_above(capacity, queue) if above.name != ROOT)]
    return any(has_room_somewhere(plus(each.allocated, request), each.deserved, request) for each in asked)


def is_first_victim(capacity: Capacity, reclaimer: str, request: Amounts, victim: Victim) -> bool:
    """Return whether a pod may be reclaimed before any other.

    Args:
        capacity: The queues.
        reclaimer: The reclaiming queue.
        request: Request of the pending pod.
        victim: The pod.
    """
    key = reclaimer, *request.items(), victim.queue, *victim.request.items()
    path = capacity.path(victim.queue)[: capacity.ancestor_level + 1]
    known = capacity.known_victims.get(key)
    if known is None or any(each.allocated is not held for each, held in zip(path, known[0], strict=True)):
        if len(capacity.known_victims) >= _MOST_KNOWN:
            capacity.known_victims.clear()
        is_victim = bool(reclaimable(capacity, reclaimer, request, (victim,)))
        known = capacity.known_victims[key] = tuple(each.allocated for each in path), is_victim
    return known[1]


def reclaimable(capacity: Capacity, reclaimer: str, request: Amounts, candidates: Sequence[Victim]) -> list[int]:
    """Return the pods that may be reclaimed from other queues.

    Args:
        capacity: The queues.
        reclaimer: The reclaiming queue.
        request: Request of the pending pod.
        candidates: Pods in the order of eviction.
    """
    if capacity.fault:
        return []
    taker = capacity.queues[reclaimer]
    held: dict[str, Amounts] = {}
    found: list[int] = []
    for number, victim in enumerate(candidates):
        queue = capacity.queues[victim.queue]
        above = levels_to_ask(capacity, taker, queue)
        for each in (queue, *above):
            held.setdefault(each.name, each.allocated)
        if not common(victim.request, request):
            continue
        if not fits(queue.guarantee, minus(held[queue.name], victim.request)):
            continue
        if is_spared(capacity, taker, queue, request, victim.request):
            continue
        if all(_gives(each, held[each.name], victim.request) for each in (queue, *above)):
            held |= {each.name: minus(held[each.name], victim.request) for each in (queue, *above)}
            found.append(number)
    return found


def _gives(queue: Queue, allocated: Amounts, request: Amounts) -> bool:
    """Return whether a queue exceeds its deserved resources, or deserves none of the resources of a pod."""
    return not common(request, queue.deserved) or exceeds_somewhere(allocated, queue.deserved, request)


def is_spared(capacity: Capacity, taker: Queue, reclaimee: Queue, request: Amounts, held: Amounts) -> bool:
    """Return whether neither leaf deserves any contested resource, and reclaim checks the same ancestor for both."""
    if common(held, reclaimee.deserved) or common(request, taker.deserved):
        return False
    own = {above.name for above in levels_above(capacity, taker)} - {ROOT}
    return any(above.name in own for above in levels_above(capacity, reclaimee))


def levels_to_ask(capacity: Capacity, taker: Queue, reclaimee: Queue) -> list[Queue]:
    """Return the ancestors of a reclaimee that must also exceed their deserved resources.

    A common ancestor at the same distance is not checked.
    """
    taking = dict(enumerate(above.name for above in levels_above(capacity, taker)))
    return [
        above
        for distance, above in enumerate(levels_above(capacity, reclaimee))
        if above.name != ROOT and taking.get(distance) != above.name
    ]


def levels_above(capacity: Capacity, queue: Queue) -> list[Queue]:
    """Return the ancestors of a queue that reclaim checks, the nearest first."""
    return [capacity.queues[name] for name in queue.ancestors[::-1][: capacity.ancestor_level]]
