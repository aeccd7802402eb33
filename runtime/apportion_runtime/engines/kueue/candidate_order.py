"""The workloads that hold quota, kept in the order of preemption candidates.

A search for preemption targets reads candidates in this order until it has enough of them, instead of sorting all of
them. Source: kubernetes-sigs/kueue v0.18.3, pkg/scheduler/preemption/common/ordering.go (CandidatesOrdering).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from apportion_runtime.engines.kueue.records import Holder
from apportion_runtime.engines.kueue.usage_tree import UsageTree

Ranked = tuple[int, float, str, int, Holder]
"""Priority, negated time of admission, uid, and a number that makes it unique; then the workload."""


def candidate_rank(holder: Holder, now: float) -> tuple[int, float, str]:
    """Return the rank of a candidate: lower priority first, then later admission; `now` if that is not written yet."""
    since = now if holder.reserved_at is None else holder.reserved_at
    return holder.priority, -since, holder.uid


@dataclass(slots=True)
class RankedHolders:
    """Workloads in order: those that are being evicted precede the others."""

    evicted: list[Ranked] = field(default_factory=list)
    held: list[Ranked] = field(default_factory=list)

    def of(self, holder: Holder) -> list[Ranked]:
        """Return the list to which a workload belongs."""
        return self.evicted if holder.evicted else self.held

    @property
    def in_order(self) -> tuple[list[Ranked], list[Ranked]]:
        """Both lists, in order."""
        return self.evicted, self.held


class CandidateOrder:
    """The holders below each root cohort, and those of each queue.

    Args:
        ledger: The tree of the queues.
        now: Taken as the time of a reservation that has none.
    """

    def __init__(self, ledger: UsageTree, holders: Iterable[Holder] = (), *, now: float = 0.0) -> None:
        self._ledger = ledger
        self._now = now
        self._of_queue: dict[str, RankedHolders] = {}
        self._below: dict[str, RankedHolders] = {}
        self._known: dict[tuple[str, str], Ranked] = {}
        self._n_of_uid: Counter[str] = Counter()
        self._number = 0
        for holder in holders:
            self.put(holder)

    def put(self, holder: Holder) -> None:
        """Add a workload."""
        self._number += 1
        ranked = *candidate_rank(holder, self._now), self._number, holder
        self._known[holder.queue, holder.key] = ranked
        self._n_of_uid[holder.uid] += 1
        for place in self._places(holder.queue):
            insort(place.of(holder), ranked)

    def remove(self, holder: Holder) -> None:
        """Remove a workload."""
        ranked = self._known.pop((holder.queue, holder.key))
        self._n_of_uid[holder.uid] -= 1
        if not self._n_of_uid[holder.uid]:
            del self._n_of_uid[holder.uid]
        for place in self._places(holder.queue):
            ordered = place.of(holder)
            del ordered[bisect_left(ordered, ranked)]

    def _places(self, queue: str) -> tuple[RankedHolders, RankedHolders]:
        of_queue = self._of_queue.setdefault(queue, RankedHolders())
        return of_queue, self._below.setdefault(self._ledger.root(queue), RankedHolders())

    def of_queue(self, queue: str) -> RankedHolders:
        """Return the holders of a queue."""
        return self._of_queue.get(queue, _NOBODY)

    def of_cohort(self, queue: str) -> RankedHolders:
        """Return the holders below the root cohort of a queue.

        Holders whose order is not total are in the order in which a search visits their queues: those of the nearest
        cohort first, and in each, those of child cohorts.
        """
        below = self._below.get(self._ledger.root(queue), _NOBODY)
        if self._is_total:
            return below
        visited = {name: number for number, name in enumerate(self._visited(queue))}

        def key(ranked: Ranked) -> tuple[object, ...]:
            *rank, number, holder = ranked
            return *rank, visited[holder.queue], number

        return RankedHolders(sorted(below.evicted, key=key), sorted(below.held, key=key))

    @property
    def _is_total(self) -> bool:
        return len(self._n_of_uid) == len(self._known)

    def _visited(self, queue: str) -> Iterator[str]:
        before = ""
        for cohort in self._ledger.ancestors(queue):
            yield from self._queues_below(cohort, before)
            before = cohort

    def _queues_below(self, cohort: str, without: str) -> Iterator[str]:
        for child in self._ledger.cohorts_in(cohort):
            if child != without:
                yield from self._queues_below(child, without)
        yield from self._ledger.queues_in(cohort)


_NOBODY = RankedHolders()
