"""What queues can use on engines that reserve guarantees and leave the rest to workloads in the order of arrival.

Volcano, ACK and YuniKorn evict for a queue up to what it is guaranteed, and divide nothing beyond: what is idle goes to
the queue that comes first in the engine's order, and stays there. A share is therefore the most that a queue can use
while every other queue holds what it can take back, and shares of siblings may overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apportion_review.shares.division_records import Claim, Division, DivisionInputs, Setting, Step


@dataclass(frozen=True, slots=True)
class Reservation:
    """What follows for a queue from its numbers and from the queues below it, in GPUs.

    Attributes:
        request: Of its pods and the queues below it, within the bound.
        assured: The part of the request for which the engine evicts pods of other queues.
        bound: The most that it may use; None if nothing bounds it.
        kept: What others may not use even if it is idle.
    """

    request: int
    assured: int
    bound: int | None
    kept: int

    @property
    def numbers(self) -> Mapping[str, Setting]:
        """What a claim has beside the numbers of its object."""
        return {"request": self.request, "assured": self.assured, "bound": self.bound, "kept": self.kept}


def reserved_divisions(inputs: DivisionInputs, reservations: Mapping[str, Reservation]) -> Iterator[Division]:
    """Yield what the queues of each level can use, parents first.

    Args:
        inputs: The queues and the GPUs.
        reservations: Of each queue, by name.
    """
    children = inputs.children()
    pending: list[tuple[str | None, int]] = [(None, int(inputs.total))]
    while pending:
        parent, total = pending.pop()
        claims = children.get(parent, ())
        if not claims:
            continue
        held = {claim.name: reservations[claim.name] for claim in claims}
        reserved = sum(max(each.assured, each.kept) for each in held.values())
        steps = [Step(name, "guaranteed", 0, each.assured) for name, each in held.items() if each.assured]
        shares: dict[str, int] = {}
        for name, each in held.items():
            others = reserved - max(each.assured, each.kept)
            extra = max(min(each.request, total - others) - each.assured, 0)
            shares[name] = each.assured + extra
            if extra:
                steps.append(Step(name, "available", 0, extra))
        yield Division(
            parent,
            total,
            tuple(
                Claim(claim.name, claim.queue, {**claim.numbers, **held[claim.name].numbers}, shares[claim.name])
                for claim in claims
            ),
            (),
            tuple(steps),
            max(total - sum(each.assured for each in held.values()), 0),
        )
        pending += [(claim.name, shares[claim.name]) for claim in reversed(claims)]
