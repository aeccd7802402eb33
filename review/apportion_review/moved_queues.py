"""Owners affected by the move of a queue: those of the former parent, and of a new parent whose queues get less."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_api.counted_nouns import agreeing
from apportion_review.differences import Change, Differences
from apportion_review.facts import QUEUE
from apportion_review.review import ClusterReview

_MAX_NAMES = 3
TOP = ""
"""The parent of top-level queues."""


def concerned_parents(found: Differences, clusters: Sequence[ClusterReview]) -> Iterator[tuple[str, str]]:
    """Yield the affected parents of each move, with the reasons.

    The former parent is always affected. The new one is affected if the share of a remaining child shrinks, or if it
    has another child on an engine without shares, where the children compete for surplus.
    """
    for change in found.changes:
        fact = change.fact
        is_in_both = fact.name in found.base.parents and fact.name in found.head.parents
        if fact.kind == QUEUE and fact.field == ("parent",) and is_in_both:
            yield from _of_move(change, found, clusters)


def _of_move(change: Change, found: Differences, clusters: Sequence[ClusterReview]) -> Iterator[tuple[str, str]]:
    queue = change.fact.name
    before, after = (str(parent) if parent else TOP for parent in (change.before, change.after))
    yield before, f"`{queue}` leaves {_place(before)}"
    siblings = [
        name
        for name, parent in found.head.parents.items()
        if name != queue and (parent or TOP) == after == (found.base.parents.get(name, name) or TOP)
    ]
    less = _with_smaller_share(siblings, clusters)
    if less:
        yield after, f"`{queue}` moves to {_place(after)}, and {_shares(less)}"
    elif siblings and any(not _divides(cluster) for cluster in clusters):
        yield after, f"`{queue}` moves to {_place(after)} and competes with {_names(siblings)}"


def _place(parent: str) -> str:
    return f"`{parent}`" if parent else "the top level"


def _shares(queues: Sequence[str]) -> str:
    return f"{agreeing(len(queues), 'the share', 'the shares')} of {_names(queues)} {agreeing(len(queues), 'shrinks', 'shrink')}"


def _names(queues: Sequence[str]) -> str:
    shown = [f"`{queue}`" for queue in queues[:_MAX_NAMES]]
    more = len(queues) - len(shown)
    if more:
        shown.append(f"{more} more {agreeing(more, 'queue')}")
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def _divides(cluster: ClusterReview) -> bool:
    return any(amounts.shares for row in cluster.shares for amounts in (row.base, row.head) if amounts is not None)


def _with_smaller_share(queues: Sequence[str], clusters: Sequence[ClusterReview]) -> list[str]:
    """Return the queues with a smaller share on any cluster."""
    shrunk = {
        row.queue
        for cluster in clusters
        for row in cluster.shares
        if row.base is not None and row.head is not None
        for demand, before in row.base.shares.items()
        if row.head.shares.get(demand, before) < before
    }
    return [queue for queue in queues if queue in shrunk]
