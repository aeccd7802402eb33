"""The differences between two policies: renamed objects, then one change for each fact that differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion_review.facts import Fact, Facts, Value
from apportion_review.renames import Rename, find_renames, renamed


@dataclass(frozen=True, slots=True)
class Change:
    """A fact that differs. None is unset; of an object's existence, absent.

    Attributes:
        fact: The fact, with its name in the head.
        before: The base's value.
        after: The head's value.
    """

    fact: Fact
    before: Value | None
    after: Value | None


@dataclass(frozen=True, slots=True)
class Differences:
    """All differences of the head from the base.

    Attributes:
        renames: Renamed objects.
        changes: Changes in the order of the base's facts, then those that only the head has.
        base: The base's facts, with the names of the head.
        head: The head's facts.
    """

    renames: tuple[Rename, ...]
    changes: tuple[Change, ...]
    base: Facts
    head: Facts

    def __bool__(self) -> bool:
        """Whether there are differences."""
        return bool(self.renames or self.changes)


def differences(base: Facts, head: Facts) -> Differences:
    """Compare two policies."""
    renames = find_renames(base, head)
    former = renamed(base, renames)
    # A bool is an int: `True` must not equal an amount of 1.
    changes = [
        Change(fact, value, head.values.get(fact))
        for fact, value in former.values.items()
        if (fact not in head.values) or head.values[fact] != value or type(head.values[fact]) is not type(value)
    ]
    changes += [Change(fact, None, value) for fact, value in head.values.items() if fact not in former.values]
    return Differences(renames, tuple(changes), former, head)


def applied(base: Facts, renames: tuple[Rename, ...], changes: tuple[Change, ...]) -> Mapping[Fact, Value]:
    """Return the values of the base with the differences applied: those of the head."""
    values = dict(renamed(base, renames).values)
    for change in changes:
        if change.after is None:
            del values[change.fact]
        else:
            values[change.fact] = change.after
    return values
