"""The workloads that hold quota and their total usage, updated incrementally between cycles."""

from __future__ import annotations

from collections.abc import Iterable

from apportion_runtime.engines.kueue.candidate_order import CandidateOrder
from apportion_runtime.engines.kueue.kept_attempts import KeptAttempts
from apportion_runtime.engines.kueue.preemption import PreemptionSnapshot
from apportion_runtime.engines.kueue.quota_tree import FlavorResource, Node
from apportion_runtime.engines.kueue.records import Holder, Queue
from apportion_runtime.engines.kueue.search_cache import SearchCache
from apportion_runtime.engines.kueue.usage_tree import UsageTree


class QuotaHolders:
    """The holders of a cluster, by queue and key.

    Attributes:
        version: How often a workload that holds quota was changed or removed.
    """

    def __init__(self, queues: Iterable[Queue], cohorts: Iterable[Node], holders: Iterable[Holder] = ()) -> None:
        self._queues = {queue.name: queue for queue in queues}
        self.ledger = UsageTree(self._queues.values(), cohorts)
        self._held: dict[str, dict[str, Holder]] = {name: {} for name in self._queues}
        self._lists = {name: of.values() for name, of in self._held.items()}
        self.version = 0
        self._generations: dict[str, int] = {}
        self._order = CandidateOrder(self.ledger)
        self._cache = SearchCache()
        self._by_priority: dict[str, dict[int, dict[FlavorResource, int]]] = {name: {} for name in self._queues}
        self._n_changes = dict.fromkeys(self._queues, 0)
        self._beside = {name: self._below_root(name) for name in self._queues}
        self._attempts = KeptAttempts(self.ledger, self._by_priority, self._n_changes)
        self._n_without_time = 0
        for holder in holders:
            self.put(holder)

    def put(self, holder: Holder) -> None:
        """Add a workload that holds quota, or change it.

        Either begins a generation, as Kueue handles the event that follows a reservation as a change of its workload.
        """
        self._change(holder.queue)
        self._remove(holder.queue, holder.key)
        self._held[holder.queue][holder.key] = holder
        self.ledger.add_usage(holder.queue, holder.usage)
        self._count(holder, 1)
        self._order.put(holder)
        self._n_without_time += holder.reserved_at is None

    def remove(self, queue: str, key: str) -> None:
        """Remove a workload."""
        if self._remove(queue, key):
            self._change(queue)

    def _remove(self, queue: str, key: str) -> bool:
        held = self._held.get(queue, {}).pop(key, None)
        if held is not None:
            self.ledger.remove_usage(queue, held.usage)
            self._count(held, -1)
            self._order.remove(held)
            self._n_without_time -= held.reserved_at is None
        return held is not None

    def _count(self, holder: Holder, sign: int) -> None:
        usage = self._by_priority[holder.queue].setdefault(holder.priority, {})
        for fr, amount in holder.usage.items():
            usage[fr] = usage.get(fr, 0) + sign * amount

    def _change(self, queue: str) -> None:
        self.version += 1
        self._generations[queue] = self._generations.get(queue, 0) + 1
        for name in self._beside.get(queue, ()):
            self._n_changes[name] += 1
        self._cache.changed(queue, self.ledger.root(queue))

    def _below_root(self, queue: str) -> tuple[str, ...]:
        """Return the queues that share a cohort below the root with a queue, and the queue itself."""
        above = self.ledger.ancestors(queue)[:-1]
        return tuple(self.ledger.queues_below(above[-1])) if above else (queue,)

    def situation(self, now: float) -> PreemptionSnapshot:
        """Return the state for a cycle."""
        found = PreemptionSnapshot(self._queues, self.ledger, self._lists, now, self._generations)
        found.attempts = self._attempts
        if not self._n_without_time:
            # Without the time of a reservation, the order depends on the time of the search.
            found.kept_order, found.cache = self._order, self._cache
        return found
