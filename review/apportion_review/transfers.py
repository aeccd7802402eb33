"""Guarantees that move between siblings: `8 H100 from speech`.

A transfer is reported only if it is unambiguous: on a cluster, exactly one sibling gains and the others lose no more
than that, or exactly one loses and the others gain no more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apportion_policy.resources import amount_text
from apportion_review.differences import Differences
from apportion_review.facts import QUEUE, Fact


@dataclass(frozen=True, slots=True)
class Transfers:
    """For each changed guarantee, the amounts that come from or go to siblings."""

    parts: Mapping[Fact, tuple[tuple[str, int], ...]]

    def notes(self, fact: Fact, clusters: tuple[str, ...]) -> Iterable[str]:
        """Yield a phrase for each sibling, if the parts are the same on all of these clusters."""
        facts = [Fact(fact.kind, fact.name, scope, fact.field) for scope in clusters or (fact.scope,)]
        held = {self.parts.get(one, ()) for one in facts}
        if len(held) != 1:
            return
        for sibling, amount in held.pop():
            yield f"{amount_text(fact.field[-1], abs(amount))} {'from' if amount > 0 else 'to'} `{sibling}`"


def transfers(found: Differences) -> Transfers:
    """Return the transfers between siblings, by resource: as written, and on each cluster."""
    parents = {**found.base.parents, **found.head.parents}
    moved: dict[tuple[str, tuple[str, ...], str | None], dict[Fact, int]] = defaultdict(dict)
    for change in found.changes:
        fact, before, after = change.fact, change.before, change.after
        if fact.kind != QUEUE or fact.field[-2:-1] != ("guaranteed",):
            continue
        if isinstance(before, int | None) and isinstance(after, int | None):
            moved[fact.scope, fact.field, parents.get(fact.name)][fact] = (after or 0) - (before or 0)
    parts: dict[Fact, tuple[tuple[str, int], ...]] = {}
    for among in moved.values():
        gains = {fact: d for fact, d in among.items() if d > 0}
        losses = {fact: d for fact, d in among.items() if d < 0}
        for one, others in ((gains, losses), (losses, gains)):
            if len(one) == 1 and others and abs(sum(one.values())) >= abs(sum(others.values())):
                fact = next(iter(one))
                parts[fact] = tuple((other.name, -d) for other, d in others.items())
                parts.update({other: ((fact.name, d),) for other, d in others.items()})
    return Transfers(parts)
