"""KAI's division of a resource among siblings, checked step by step.

Implemented from the engine's rule, independent of the core's division. Numbers are 64-bit floats, summed in the order
of queue names, so that equality is exact.

Source: KAI v0.17.0, pkg/scheduler/plugins/proportion/resource_division/resource_division.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor

from apportion_review.shares.division_records import Claim, Division, Number
from apportion_review.shares.step_walk import RefusedStepError, StepWalk

NUMBERS = ("deserved", "limit", "weight", "priority", "request", "created", "usage")
_NO_BOUND = -1
_WHOLE = 1.0


@dataclass(frozen=True, slots=True)
class _Queue:
    name: str
    deserved: float
    cap: float
    """The maximum that the queue may be given of its request."""
    bounds: tuple[float, ...]
    """The queue gets no more once it has reached one of these."""
    weight: float
    priority: int
    created: float
    usage: float


def check_kai(division: Division, settings: Mapping[str, Number]) -> None:
    """Check a division. Raises `RefusedStepError`."""
    queues = [_queue(claim) for claim in division.claims]
    if [queue.name for queue in queues] != sorted(queue.name for queue in queues):
        raise RefusedStepError("the queues are not sorted by name")
    walk = StepWalk(division)
    total = float(division.total)
    left = total
    for queue in queues:
        amount = min(total if queue.deserved == _NO_BOUND else queue.deserved, queue.cap)
        walk.gives(queue.name, "guaranteed", 0, amount)
        left -= amount
    if left <= 0:
        walk.ends(0)
        return
    lost: dict[int, list[tuple[float, float, str]]] = {}
    priorities = sorted({queue.priority for queue in queues}, reverse=True)
    for priority in priorities:
        of_priority = [queue for queue in queues if queue.priority == priority]
        left, lost[priority] = _surplus(walk, left, of_priority, float(settings["kValue"]))
    for priority in priorities:
        for _, _, name in sorted(lost[priority]):
            if left > 0:
                amount = min(_WHOLE, left)
                walk.gives(name, "remainder", 0, amount)
                left -= amount
    walk.ends(left)


def _queue(claim: Claim) -> _Queue:
    deserved, limit, weight, priority, request, created, usage = (float(claim.numbers[name] or 0) for name in NUMBERS)
    bounds = (request,) if limit == _NO_BOUND else (request, limit)
    return _Queue(claim.name, deserved, min(bounds), bounds, weight, int(priority), created, usage)


def _surplus(
    walk: StepWalk, left: float, queues: Sequence[_Queue], k_value: float
) -> tuple[float, list[tuple[float, float, str]]]:
    """Check the rounds of one priority; return the remainder, and the rounded-off fractions, largest first."""
    fractions: dict[str, tuple[float, float, str]] = {}
    number, is_over = 0, False
    while not is_over:
        number += 1
        weights = _weights(walk, queues, k_value)
        whole = 0.0
        for weight in weights.values():
            whole += weight
        if whole == 0:
            break
        walk.opens(queues[0].priority, number, left, weights)
        offered, is_over = left, True
        for queue in queues:
            if left == 0 or _is_full(walk, queue) or queue.weight == 0:
                continue
            wants = max(queue.cap - walk.held[queue.name], 0.0)
            part = offered * (weights[queue.name] / whole)
            if part < wants:
                amount = max(float(floor(part)), 0.0)
                if part > amount:
                    fractions[queue.name] = (amount - part, queue.created, queue.name)
            else:
                amount = wants
                fractions.pop(queue.name, None)
                # Amounts that the queue does not need are divided again.
                is_over = is_over and (wants == part or amount == 0)
            walk.gives(queue.name, "surplus", number, amount)
            left -= amount
        is_over = is_over or left == 0
    return left, list(fractions.values())


def _weights(walk: StepWalk, queues: Sequence[_Queue], k_value: float) -> dict[str, float]:
    """Return the weights of the participating queues, reduced by past usage."""
    total = 0.0
    for queue in queues:
        if queue.cap > walk.held[queue.name]:
            total += queue.weight
    if total == 0:
        return {}
    parts = {queue.name: queue.weight / total for queue in queues if not _is_full(walk, queue)}
    usage = {queue.name: queue.usage for queue in queues}
    return {name: max(0.0, part + k_value * (part - usage[name])) for name, part in parts.items()}


def _is_full(walk: StepWalk, queue: _Queue) -> bool:
    return any(bound <= walk.held[queue.name] for bound in queue.bounds)
