"""A slow and simple implementation of fair shares, as the oracle for the core's division.

Implemented from the rules, phase by phase, with a new state after every step, and independent of `core.division` and
`core.shares`. Numbers are 64-bit floats, added in the order of the queues, as in the engine: rounding
decides which queue receives the last unit.

Source: KAI Scheduler d5bc503a, pkg/scheduler/plugins/proportion.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

NO_BOUND = -1.0
Amounts = dict[str, float]


@dataclass(frozen=True)
class SlowQueue:
    """A queue in one resource. `request` is that of its own pods."""

    name: str
    parent: str | None
    quota: float
    limit: float
    weight: float
    usage: float
    priority: int
    created: float
    request: float


def fair_shares(total: float, queues: Sequence[SlowQueue], k: float) -> Amounts:
    """Return the fair share of each queue of a cluster."""
    asked = {queue.name: _asked_below(queue, queues) for queue in queues}
    found: Amounts = {}
    levels: list[tuple[str | None, float]] = [(None, total)]
    while levels:
        parent, amount = levels.pop()
        siblings = [queue for queue in queues if queue.parent == parent]
        found.update(_among(amount, siblings, asked, k))
        levels += [(queue.name, found[queue.name]) for queue in siblings]
    return found


def _asked_below(queue: SlowQueue, queues: Sequence[SlowQueue]) -> float:
    asked = queue.request
    for child in queues:
        if child.parent == queue.name:
            asked += _asked_below(child, queues)
    return asked


def _among(total: float, siblings: Sequence[SlowQueue], asked: Amounts, k: float) -> Amounts:
    # First, the quota of every queue, up to its request and limit, whether or not the capacity suffices.
    shares = {
        queue.name: min(total if queue.quota == NO_BOUND else queue.quota, _most(queue, asked)) for queue in siblings
    }
    left = total
    for share in shares.values():
        left -= share
    if left <= 0:
        return shares
    # Second, the surplus, highest priority first.
    owed: dict[int, Amounts] = {}
    priorities = sorted({queue.priority for queue in siblings}, reverse=True)
    for priority in priorities:
        equals = [queue for queue in siblings if queue.priority == priority]
        shares, left, owed[priority] = _surplus(left, equals, shares, asked, k)
    # Third, the units lost by rounding down, one for each queue in order of the loss.
    for priority in priorities:
        by_name = {queue.name: queue for queue in siblings}
        while left > 0 and owed[priority]:
            lost = owed[priority]
            next_one = min(lost, key=lambda name: (-lost[name], by_name[name].created, name))
            del lost[next_one]
            unit = min(1.0, left)
            shares = {**shares, next_one: shares[next_one] + unit}
            left -= unit
    return shares


def _most(queue: SlowQueue, asked: Amounts) -> float:
    return asked[queue.name] if queue.limit == NO_BOUND else min(queue.limit, asked[queue.name])


def _surplus(
    left: float, queues: Sequence[SlowQueue], shares: Amounts, asked: Amounts, k: float
) -> tuple[Amounts, float, Amounts]:
    owed: Amounts = {}
    while True:
        to_give = left
        weights = _weights(queues, shares, asked, k)
        total_weight = 0.0
        for weight in weights.values():
            total_weight += weight
        if total_weight == 0:
            return shares, left, owed
        somebody_wanted_less = False
        for queue in queues:
            if left == 0:
                break
            if queue.weight == 0 or not _wants(queue, shares, asked):
                continue
            wanted = max(_most(queue, asked) - shares[queue.name], 0.0)
            part = to_give * (weights[queue.name] / total_weight)
            if wanted <= part:
                given = wanted
                owed = {name: lost for name, lost in owed.items() if name != queue.name}
            else:
                given = math.floor(part) if math.floor(part) > 0 else 0.0
                if part - given > 0:
                    owed = {**owed, queue.name: part - given}
            shares = {**shares, queue.name: shares[queue.name] + given}
            left -= given
            somebody_wanted_less = somebody_wanted_less or (given != 0 and wanted < part)
        if not somebody_wanted_less or left == 0:
            return shares, left, owed


def _wants(queue: SlowQueue, shares: Amounts, asked: Amounts) -> bool:
    below_limit = queue.limit == NO_BOUND or shares[queue.name] < queue.limit
    return shares[queue.name] < asked[queue.name] and below_limit


def _weights(queues: Sequence[SlowQueue], shares: Amounts, asked: Amounts, k: float) -> Mapping[str, float]:
    total = 0.0
    for queue in queues:
        if _most(queue, asked) > shares[queue.name]:
            total += queue.weight
    if total == 0:
        return {}
    parts = {queue.name: queue.weight / total for queue in queues if _wants(queue, shares, asked)}
    usage = {queue.name: queue.usage for queue in queues}
    return {name: max(0.0, part + k * (part - usage[name])) for name, part in parts.items()}
