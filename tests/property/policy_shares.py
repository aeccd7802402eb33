"""The meaning of guarantees, limits and weights: what each sibling may use of an amount.

Each queue has its guarantee, up to what it wants. The rest is divided by weight, up to what each wants; what a queue does
not want is divided among the others. Written from docs/language.md, without a look at any engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Claim:
    """What one of several siblings is guaranteed, weighs, and wants within its limits; a higher priority comes first."""

    name: str
    guaranteed: int
    weight: Fraction
    wanted: int
    priority: int = 100


def shares_of(amount: int, claims: Sequence[Claim]) -> Mapping[str, Fraction]:
    """Return what each sibling may use. The guarantees fit into the amount."""
    shares = {claim.name: Fraction(min(claim.guaranteed, claim.wanted)) for claim in claims}
    surplus = amount - sum(shares.values(), Fraction())
    for priority in sorted({claim.priority for claim in claims}, reverse=True):
        hungry = [claim for claim in claims if claim.priority == priority]
        while surplus > 0:
            hungry = [claim for claim in hungry if shares[claim.name] < claim.wanted and claim.weight]
            if not hungry:
                break
            # The first sibling to have all that it wants ends a round.
            per_weight = min(
                surplus / sum((claim.weight for claim in hungry), Fraction()),
                *((claim.wanted - shares[claim.name]) / claim.weight for claim in hungry),
            )
            for claim in hungry:
                shares[claim.name] += per_weight * claim.weight
                surplus -= per_weight * claim.weight
    return shares
