"""The division of one resource among sibling queues: deserved quotas, surplus rounds, remainder.

Source: pkg/scheduler/plugins/proportion/resource_division/resource_division.go. The surplus rounds give whole units;
the units lost to rounding go to the largest fractions, one each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from apportion_runtime.core.running_totals import added

UNLIMITED = -1.0
_NAME = attrgetter("name")


@dataclass(slots=True)
class QueueDemand:
    """What a queue may receive of one resource.

    Attributes:
        deserved: Its quota; -1 is unlimited.
        limit: -1 is unlimited.
        weight: Its weight in the surplus; 0 excludes it.
        request: The allocated and pending requests of its pods.
        usage: Past usage as a fraction of the cluster's capacity.
        share: The amount that it has received so far.
    """

    name: str
    deserved: float
    limit: float
    weight: float
    request: float
    priority: int
    created: float
    usage: float = 0.0
    share: float = 0.0

    @property
    def requestable(self) -> float:
        """The request within the limit."""
        return self.request if self.limit == UNLIMITED else min(self.limit, self.request)

    @property
    def wanted(self) -> float:
        """The unmet part of the request."""
        return max(self.requestable - self.share, 0.0)

    @property
    def is_satisfied(self) -> bool:
        """Whether the demand has reached its request or limit."""
        return self.request <= self.share or (self.limit != UNLIMITED and self.limit <= self.share)


class DivisionStep(NamedTuple):
    """One step of a division: the queue, the amount it received, and the phase (`deserved`, `surplus`, `remainder`)."""

    name: str
    phase: str
    round: int
    amount: float


class Round(NamedTuple):
    """One surplus round among queues of one priority: the amount to divide, and each weight adjusted for past usage."""

    priority: int
    number: int
    left: float
    weights: Mapping[str, float]


@dataclass(slots=True)
class Record:
    """The steps of a division, in order."""

    steps: list[DivisionStep] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)


def divide(total: float, demands: Sequence[QueueDemand], k_value: float, record: Record | None = None) -> float:
    """Divide a total among demands, store the share in each, and return the remainder.

    Args:
        total: The amount, in the resource's unit.
        demands: Siblings; their order changes nothing.
        k_value: How strongly past usage counts against a queue.
        record: Receives the steps.
    """
    # Sums of floats depend on their order, which is independent of the caller's.
    left = total
    # Satisfied demands get nothing more.
    by_priority: dict[int, list[QueueDemand]] = {}
    for demand in sorted(demands, key=_NAME):
        # The properties of the demand are written out: this loop runs for every sibling in every division.
        request, limit = demand.request, demand.limit
        deserved = total if demand.deserved == UNLIMITED else demand.deserved
        requestable = request if limit == UNLIMITED or request < limit else limit
        amount = min(deserved, requestable)
        demand.share = share = demand.share + amount
        if record is not None and amount:
            record.steps.append(DivisionStep(demand.name, "deserved", 0, amount))
        left -= amount
        if request > share and (limit == UNLIMITED or limit > share):
            by_priority.setdefault(demand.priority, []).append(demand)
    if left <= 0:
        return 0.0
    fractions: dict[int, dict[str, tuple[float, QueueDemand]]] = {}
    for priority in sorted(by_priority, reverse=True):
        left, fractions[priority] = _surplus(left, by_priority[priority], k_value, record)
    for priority in sorted(by_priority, reverse=True):
        if left <= 0:
            break
        left = _remainder(left, fractions[priority], record)
    return left


def _give(demand: QueueDemand, amount: float, phase: str, number: int, record: Record | None) -> None:
    demand.share += amount
    if record is not None and amount:
        record.steps.append(DivisionStep(demand.name, phase, number, amount))


def _surplus(
    left: float, demands: Sequence[QueueDemand], k_value: float, record: Record | None
) -> tuple[float, dict[str, tuple[float, QueueDemand]]]:
    fractions: dict[str, tuple[float, QueueDemand]] = {}
    number = 0
    # A satisfied demand stays so: shares only grow.
    wanting = demands
    while wanting:
        number += 1
        at_start = left
        weights, total_weight = _weights(wanting, k_value)
        if total_weight == 0:
            break
        if record is not None:
            by_name = {demand.name: weight for demand, weight in zip(wanting, weights, strict=True)}
            record.rounds.append(Round(demands[0].priority, number, left, by_name))
        again = False
        for demand, weight in zip(wanting, weights, strict=True):
            if left == 0:
                break
            if demand.weight == 0:
                continue
            wanted = demand.wanted
            part = at_start * (weight / total_weight)
            if wanted <= part:
                given = wanted
                fractions.pop(demand.name, None)
            else:
                given = max(math.floor(part), 0.0)
                if part - given > 0:
                    fractions[demand.name] = (part - given, demand)
            if given == 0:
                continue
            _give(demand, given, "surplus", number, record)
            left -= given
            again = again or wanted < part
        if not again or left == 0:
            break
        wanting = [demand for demand in wanting if not demand.is_satisfied]
    return left, fractions


def _weights(wanting: Sequence[QueueDemand], k_value: float) -> tuple[list[float], float]:
    """Return the weights of demands that are not satisfied, adjusted for past usage, and their sum."""
    total = added([demand.weight for demand in wanting])
    if total == 0:
        return [], 0.0
    weights: list[float] = []
    for demand in wanting:
        part = demand.weight / total
        weights.append(max(0.0, part + k_value * (part - demand.usage)))
    return weights, added(weights)


def _remainder(left: float, fractions: dict[str, tuple[float, QueueDemand]], record: Record | None) -> float:
    order = sorted(fractions.values(), key=lambda pair: (-pair[0], pair[1].created, pair[1].name))
    for _, demand in order:
        if left == 0:
            break
        given = min(1.0, left)
        _give(demand, given, "remainder", 0, record)
        left -= given
    return left
