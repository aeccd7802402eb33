"""Origins of changes: made by the author on the object itself, or derived from another object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apportion_review.differences import Change, Differences
from apportion_review.facts import (
    AMOUNTS,
    DECLARED,
    EFFECTIVE_LIMIT,
    ENVIRONMENT_OVERRIDE,
    ORGANISATION,
    OVERRIDE,
    QUEUE,
    Fact,
)

_OF_THE_QUEUE_ALONE = frozenset(
    (*AMOUNTS, "over_quota_weight", "priority", "preempt_min_runtime", "reclaim_min_runtime", "pools")
)


class Origins:
    """The origins of the changes of a comparison."""

    def __init__(self, found: Differences, by_object: Mapping[tuple[str, str], Sequence[Change]]) -> None:
        self._found = found
        self._declared: set[tuple[str, str]] = set()
        self._overridden: set[str] = set()
        for (kind, name), changes in by_object.items():
            if kind in (OVERRIDE, ENVIRONMENT_OVERRIDE):
                self._overridden.add(name.partition(" ")[0])
            elif kind == QUEUE:
                self._declared |= {(name, c.fact.field[1]) for c in changes if c.fact.field[:1] == (DECLARED,)}
        self._owners = {
            (c.before, c.after) for c in found.changes if c.fact.kind == ORGANISATION and c.fact.field == ("owner",)
        }
        self._of_queues: set[tuple[str, str, tuple[str, ...], object, object]] = {
            (c.fact.name, c.fact.scope, c.fact.field, c.before, c.after) for c in found.changes if c.fact.kind == QUEUE
        }

    def is_derived(self, change: Change) -> bool:
        """Return whether the object itself is unchanged, and another change causes this one."""
        fact = change.fact
        if fact.kind != QUEUE or fact.field[0] == DECLARED:
            return False
        if fact.field[0] == EFFECTIVE_LIMIT or self._is_sum_of_children(fact):
            return True
        if fact.field[0] in _OF_THE_QUEUE_ALONE:
            return (fact.name, fact.field[0]) not in self._declared and fact.name not in self._overridden
        parent = self._found.head.parents.get(fact.name)
        if parent is None:
            return fact.field == ("owner",) and (change.before, change.after) in self._owners
        return (parent, fact.scope, fact.field, change.before, change.after) in self._of_queues

    def _is_sum_of_children(self, fact: Fact) -> bool:
        return fact in self._found.base.filled and fact in self._found.head.filled
