"""The last cycle of Kueue's scheduler, whose decisions hold while neither its heads nor the usage change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import is_

from apportion_runtime.engines.kueue.records import Pending
from apportion_runtime.engines.kueue.scheduling_cycle import Entry, Rules


class LastCycle:
    """The entries of a cycle, which hold for the same heads while the usage stays the same.

    Args:
        rules: The configuration.
        version: The version of the workloads that hold quota.
        heads: The heads, none of them refused; a workload that was queued again is another object.
        entries: The decisions.
    """

    def __init__(
        self,
        rules: Rules | None = None,
        version: int = -1,
        heads: Sequence[Pending] = (),
        entries: Sequence[Entry] = (),
    ) -> None:
        self._rules = rules
        self._version = version
        self._heads = heads
        self._known = {id(head) for head in heads}
        self._entries = entries
        self._is_final: bool | None = None

    def has(self, head: Pending, version: int) -> bool:
        """Return whether a head was tried with the same usage."""
        return self._version == version and id(head) in self._known

    def entries_for(self, rules: Rules, version: int, heads: Sequence[Pending]) -> Sequence[Entry] | None:
        """Return the entries of a cycle without refused heads, if it has those of the last one."""
        if self._version != version or self._rules is not rules or len(heads) != len(self._heads):
            return None
        return self._entries if all(map(is_, heads, self._heads)) else None

    def repeats(self, version: int) -> bool:
        """Return whether the next cycle has the same heads, if this one changed nothing but has a given version of the usage."""
        if self._version != version:
            return False
        if self._is_final is None:
            self._is_final = all(entry.again() is entry.workload for entry in self._entries)
        return self._is_final


@dataclass(slots=True)
class Repetition:
    """Detects cycles that only repeat previous ones.

    A head that may use several flavors continues at the next one in its next cycle, and starts over after the last.
    """

    _seen: set[frozenset[tuple[object, ...]]] = field(default_factory=set)

    def begins(self, heads: Iterable[Pending], *, has_changed: bool) -> bool:
        """Record a cycle; return whether the same heads were tried at the same flavors since the last change."""
        if has_changed:
            self._seen.clear()
            return False
        tried = frozenset((head.key, *sorted(head.next_flavor.items())) for head in heads)
        if tried in self._seen:
            return True
        self._seen.add(tried)
        return False
