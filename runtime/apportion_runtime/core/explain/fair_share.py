"""The fair share of a queue, explained step by step for each level from the root and each resource.

Entry point: `fair_share(session, queue)`. The division is repeated with its steps recorded, from the requests when
the session was opened; the session is not changed.

Source: pkg/scheduler/plugins/proportion/resource_division.
"""

from __future__ import annotations

from dataclasses import dataclass

from apportion_runtime.core.division import Record, divide
from apportion_runtime.core.explain.amounts import decimals, quantity
from apportion_runtime.core.queue_share import QueueShare, demands_of
from apportion_runtime.core.resources import CPU, GPU, MEMORY
from apportion_runtime.core.session import Session
from apportion_runtime.core.shares import RESOURCES

DESERVED, SURPLUS, REMAINDER = "deserved", "surplus", "remainder"


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the division: the amount that a queue received.

    Attributes:
        phase: `deserved`, `surplus` or `remainder`.
        round: Of the surplus, from 1; 0 in the other phases.
        amount: In the resource's unit: millicores, bytes, devices.
        left: The amount left for queues of the same priority at the start of the round; 0 in the other phases.
        part: The queue's part of it by weight and past usage, in [0, 1].
    """

    phase: str
    round: int
    amount: float
    left: float = 0.0
    part: float = 0.0


@dataclass(frozen=True, slots=True)
class Division:
    """The division of one resource at one level, for a queue; amounts in the resource's unit, -1 is unlimited.

    Attributes:
        resource: `cpu`, `memory` or `gpu`.
        total: What the siblings divide.
        quota: The quota of the queue.
        limit: Its limit.
        weight: Its over-quota weight.
        request: The allocated and pending requests of its pods.
        priority: Its priority.
        usage: Its past usage as a fraction of the cluster's capacity.
        siblings_weight: Sum of the weights of all siblings of its priority.
        k_value: How strongly past usage counts.
        steps: The steps, in order.
        fair: The fair share.
        left: The undivided remainder.
    """

    resource: str
    total: float
    quota: float
    limit: float
    weight: float
    request: float
    priority: int
    usage: float
    siblings_weight: float
    k_value: float
    steps: tuple[Step, ...]
    fair: float
    left: float


@dataclass(frozen=True, slots=True)
class Level:
    """A queue on the path, with its parent (None: the cluster)."""

    queue: str
    parent: str | None
    divisions: tuple[Division, ...]


@dataclass(frozen=True, slots=True)
class FairShare:
    """A queue's fair share, from the root down to it."""

    queue: str
    levels: tuple[Level, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """The explanation as text; details of a line are indented below it."""
        found: list[str] = []
        for level in self.levels:
            above = f"queue {level.parent}" if level.parent else "the cluster"
            found.append(f"queue {level.queue}, {f'a child of {above}' if level.parent else 'a top-level queue'}")
            for division in level.divisions:
                found += [f"  {line}" for line in _lines(division, above)]
        return tuple(found)


def fair_share(session: Session, queue: str) -> FairShare:
    """Return the explanation of a queue's fair share.

    Raises:
        KeyError: If the queue does not exist, or is ignored because an ancestor is missing.
    """
    shares = session.shares
    levels: list[Level] = []
    parent: QueueShare | None = None
    for at in reversed(shares.queues[queue].path):
        siblings = shares.children_of(parent)
        totals = shares.total if parent is None else parent.fair
        divisions = tuple(
            _division(at, siblings, r, float(totals[r]), session.settings.k_value) for r in (GPU, CPU, MEMORY)
        )
        levels.append(Level(at.name, None if parent is None else parent.name, divisions))
        parent = at
    return FairShare(queue, tuple(levels))


def _division(queue: QueueShare, siblings: list[QueueShare], r: int, total: float, k_value: float) -> Division:
    demands, record = demands_of(siblings, r), Record()
    left = divide(total, demands, k_value, record)
    rounds = {made.number: made for made in record.rounds if made.priority == queue.priority}
    steps: list[Step] = []
    for given in record.steps:
        if given.name != queue.name:
            continue
        step = Step(given.phase, given.round, given.amount)
        if given.phase == SURPLUS:
            made = rounds[given.round]
            part = made.weights[queue.name] / sum(made.weights.values())
            step = Step(given.phase, given.round, given.amount, made.left, part)
        steps.append(step)
    return Division(
        RESOURCES[r], total, queue.deserved[r], queue.limit[r], queue.weight[r], queue.request[r], queue.priority,
        queue.usage[r], sum(q.weight[r] for q in siblings if q.priority == queue.priority), k_value, tuple(steps),
        next(demand.share for demand in demands if demand.name == queue.name), left,
    )  # fmt: skip


def _lines(division: Division, above: str) -> list[str]:
    r = RESOURCES.index(division.resource)
    name = ("CPU", "memory", "GPUs")[r]
    if division.request == 0:
        return [f"{name}: none requested"]
    found = [f"{name}: fair share {quantity(division.fair, r)} of the {quantity(division.total, r)} in {above}"]
    bounds = f"quota {quantity(division.quota, r)}, limit {quantity(division.limit, r)}"
    found.append(f"  requests {quantity(division.request, r)}; {bounds}")
    for step in division.steps:
        given = quantity(step.amount, r)
        if step.phase == DESERVED:
            found.append(f"  {given} from its quota")
        elif step.phase == SURPLUS:
            found.append(
                f"  {given} in surplus round {step.round}: {decimals(step.part * 100)}% of {quantity(step.left, r)}"
            )
            found.append(f"    {_weight(division)}")
        else:
            found.append(f"  {given} from rounding")
    if division.fair < division.request:
        found.append(f"  {_why_no_more(division, r)}")
    return found


def _weight(division: Division) -> str:
    text = f"weight {decimals(division.weight)} of {decimals(division.siblings_weight)} at priority {division.priority}"
    if division.usage:
        text += f", past usage {decimals(division.usage * 100)}% (k {decimals(division.k_value)})"
    return text


def _why_no_more(division: Division, r: int) -> str:
    if 0 <= division.limit <= division.fair:
        return f"gets no more: its limit is {quantity(division.limit, r)}"
    if division.left > 0:
        why = "its weight is 0" if division.weight == 0 else "past usage more than offsets its weight"
        return f"gets no more, despite a remainder of {quantity(division.left, r)}: {why}"
    if division.weight == 0:
        return "gets no more: its over-quota weight is 0"
    return "gets no more: no surplus remains"
