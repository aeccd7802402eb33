"""The difference between two policies as one record, from which all output formats are rendered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from apportion_review.differences import Differences
from apportion_review.facts import KINDS
from apportion_review.object_changes import TargetChanges
from apportion_review.statements import Statement, statements


@dataclass(frozen=True)
class Side:
    """One of the two policies.

    Attributes:
        name: Its name on the command line.
        as_of: Date on which its overrides are evaluated.
    """

    name: str
    as_of: date


@dataclass(frozen=True)
class DiffReport:
    """A comparison of two policies.

    Attributes:
        base: The former policy.
        head: The changed policy.
        found: The differences.
        objects: The changes of compiled objects; None if they are not compared.
        why_no_objects: Why objects are not compared, as a clause.
        notes: Fields of a side's objects that a policy does not support, and that are not compared.
    """

    base: Side
    head: Side
    found: Differences
    objects: tuple[TargetChanges, ...] | None
    why_no_objects: str = ""
    notes: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether there are differences."""
        return bool(self.found or self.objects)

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """The differences in the author's terms."""
        return statements(self.found)

    @cached_property
    def unchanged(self) -> Mapping[str, int]:
        """The number of objects of each kind without a statement."""
        touched = {(statement.kind, statement.name) for statement in self.statements}
        held = [(f.kind, f.name) for f in self.found.head.values if not f.field]
        counts = Counter(kind for kind, name in held if (kind, name) not in touched)
        return {kind: counts[kind] for kind in KINDS if counts[kind]}

    @cached_property
    def object_counts(self) -> Mapping[str, int]:
        """The number of objects that are created, changed, deleted, and retained on the cluster."""
        counts = Counter[str]()
        for target in self.objects or ():
            actions = Counter(change.action for change in target.changes)
            counts += Counter(
                created=actions["make"],
                changed=actions["change"],
                deleted=len(target.deleted),
                retained=len(target.retained),
            )
        return {name: counts[name] for name in ("created", "changed", "deleted", "retained")}
