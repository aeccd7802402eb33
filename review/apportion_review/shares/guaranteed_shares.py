"""Usable amounts of queues on engines that reserve guarantees and allocate the surplus in order of arrival.

Volcano, ACK and YuniKorn evict for a queue up to its guarantee, and do not divide the surplus: idle resources go to the
first queue in the engine's order, and are not reclaimed. A share is therefore the maximum usage of a queue while every
other queue uses the amount that it can reclaim, and shares of siblings may overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apportion_review.shares.division_records import Claim, Division, DivisionInputs, Setting, Step


@dataclass(frozen=True, slots=True)
class Reservation:
    """Amounts derived from a queue's numbers and its children, in GPUs.

    Attributes:
        request: Request of its pods and children, within the bound.
        assured: The part of the request for which the engine evicts pods of other queues.
        bound: Its maximum usage; None if unlimited.
        kept: The amount that others may not use even if it is idle.
    """

    request: int
    assured: int
    bound: int | None
    kept: int

    @property
    def numbers(self) -> Mapping[str, Setting]:
        """The derived numbers of a claim, in addition to those of its object."""
        return {"request": self.request, "assured": self.assured, "bound": self.bound, "kept": self.kept}


def reserved_divisions(inputs: DivisionInputs, reservations: Mapping[str, Reservation]) -> Iterator[Division]:
    """Yield the usable amounts of the queues of each level, parents first.

    Args:
        inputs: The queues and the GPUs.
        reservations: Reservation of each queue, by name.
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
