"""Possible preemptors of a workload under Kueue, for any demand: a bound that follows from the configuration alone.

A workload has no possible evictor only if Kueue's candidate rules exclude it under any demand.
Source: kubernetes-sigs/kueue v0.18.3, pkg/scheduler/preemption (classical, fairsharing), pkg/cache/scheduler.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from apportion_api.kueue.names import LOWER_OR_NEWER, LOWER_PRIORITY, NEVER
from apportion_review.fates.kueue_workloads import KueueCluster
from apportion_runtime.engines.kueue.preemption import candidate_order
from apportion_runtime.engines.kueue.quota_tree import FlavorResource
from apportion_runtime.engines.kueue.records import Holder, Queue
from apportion_runtime.engines.kueue.usage_tree import UsageTree


@dataclass(frozen=True, slots=True)
class PossibleEvictor:
    """A ClusterQueue whose workloads may preempt a workload, and the field that allows it."""

    queue: str
    rule: str


class EvictionBound:
    """The possible evictors of a cluster's workloads.

    Args:
        cluster: The cluster.
        is_fair: Whether fair sharing is enabled.
    """

    def __init__(self, cluster: KueueCluster, *, is_fair: bool) -> None:
        self._queues = cluster.queues
        self._highest = cluster.highest_priority
        self._is_fair = is_fair
        self._tree = UsageTree(cluster.queues.values(), cluster.cohorts, cluster.holders.values())
        self._held: dict[str, list[Holder]] = {}
        for holder in cluster.holders.values():
            self._held.setdefault(holder.queue, []).append(holder)
        self._requestable = {name: frozenset(self._requests_of(queue)) for name, queue in cluster.queues.items()}
        self._growing: dict[str, frozenset[FlavorResource]] = {}
        self._found: dict[tuple[str, int, frozenset[FlavorResource], bool], PossibleEvictor | None] = {}
        self._members: dict[str, list[str]] = {}
        for name in sorted(cluster.queues):
            self._members.setdefault(self._tree.root(name), []).append(name)

    def evictor(self, holder: Holder) -> PossibleEvictor | None:
        """Return a queue that may preempt a workload of an active queue; None if there is none for any demand."""
        outlasts = not self._is_fair and self._outlasts(holder)
        alike = (holder.queue, holder.priority, frozenset(holder.usage), outlasts)
        if alike not in self._found:
            self._found[alike] = self._evictor(holder, outlasts=outlasts)
        return self._found[alike]

    def _evictor(self, holder: Holder, *, outlasts: bool) -> PossibleEvictor | None:
        # Other queues first, because the owner cannot control their demand.
        own = self._queues[holder.queue]
        for name in self._members[self._tree.root(own.name)] if not outlasts else ():
            if name != own.name and self._may_reclaim(self._queues[name], holder):
                policy = self._queues[name].preemption.reclaim
                fair = " under fair sharing" if self._is_fair else ""
                return PossibleEvictor(
                    name,
                    f"its queue may exceed its quota, and {name} may reclaim the excess{fair} (reclaimWithinCohort: {policy})",
                )
        policy = own.preemption.within_queue
        if self._may_outrank(policy, holder) and not self._requestable[own.name].isdisjoint(holder.usage):
            return PossibleEvictor(
                own.name, f"higher-priority work in its own queue may preempt it (withinClusterQueue: {policy})"
            )
        return None

    def limit(self, queue: str, fr: FlavorResource) -> int:
        """Return the maximum usage of a queue: its quota and the amount that it may borrow."""
        return self._tree.potential(queue, fr) if fr in self._queues[queue].quotas else 0

    def _requests_of(self, queue: Queue) -> Iterator[FlavorResource]:
        """Yield the possible requests of a queue's workloads; none if it admits workloads of no namespace."""
        if queue.selector is not None:
            yield from (fr for fr in queue.quotas if self._tree.potential(queue.name, fr) > 0)

    def _may_outrank(self, policy: str, holder: Holder) -> bool:
        """Return whether a workload may exist that can preempt another one under a policy by priority."""
        if policy == NEVER:
            return False
        if self._highest is None or policy not in (LOWER_PRIORITY, LOWER_OR_NEWER):
            return True
        return self._highest > holder.priority or (policy == LOWER_OR_NEWER and self._highest == holder.priority)

    def _may_reclaim(self, queue: Queue, holder: Holder) -> bool:
        contested = self._requestable[queue.name]
        shared = contested & holder.usage.keys()
        if not shared or not self._may_outrank(queue.preemption.reclaim, holder):
            return False
        if not self._can_exceed(holder.queue, contested):
            return False
        ancestors = set(self._tree.ancestors(queue.name))
        for cohort in self._tree.ancestors(holder.queue):
            if cohort in ancestors:
                break
            if not self._can_exceed(cohort, None if self._is_fair else contested):
                return False
        return self._is_fair or self._can_take(queue, holder, shared)

    def _can_exceed(self, node: str, among: Iterable[FlavorResource] | None) -> bool:
        """Return whether a node can ever exceed its own quota, for some resources or any."""
        found = self._growing.get(node)
        if found is None:
            found = self._growing[node] = frozenset(self._exceedable(node))
        return bool(found) if among is None else not found.isdisjoint(among)

    def _exceedable(self, node: str) -> Iterator[FlavorResource]:
        quota, usage = self._tree.quota[node], self._tree.usage[node]
        for fr in {**self._tree.quota[self._tree.root(node)], **quota, **usage}:
            own = quota.get(fr, 0)
            if usage.get(fr, 0) > own or self._tree.potential(node, fr) > own:
                yield fr

    def _can_take(self, queue: Queue, holder: Holder, shared: Iterable[FlavorResource]) -> bool:
        """Return whether a queue can get quota of its own, or of a nearer cohort, for the preempted amount."""
        preemption = queue.preemption
        is_below = preemption.threshold is None or holder.priority <= preemption.threshold
        if preemption.borrowing != NEVER and is_below and self._may_outrank(LOWER_PRIORITY, holder):
            return True
        above = set(self._tree.ancestors(holder.queue))
        nodes = [queue.name, *(cohort for cohort in self._tree.ancestors(queue.name) if cohort not in above)]
        return any(self._tree.quota[node].get(fr, 0) > 0 for node in nodes for fr in shared)

    def _outlasts(self, holder: Holder) -> bool:
        """Return whether its queue is within its quota before it is considered, after all later candidates.

        Workloads that were admitted later are considered earlier, unless their priority is higher.
        """
        if self._highest is None or self._highest > holder.priority or holder.reserved_at is None or holder.evicted:
            return False
        order = candidate_order(0.0, "")
        rest = [other for other in self._held[holder.queue] if order(other) >= order(holder) or other.evicted]
        if any(other.reserved_at is None for other in rest):
            return False
        total: dict[FlavorResource, int] = {}
        for other in rest:
            for fr, amount in other.usage.items():
                total[fr] = total.get(fr, 0) + amount
        return all(amount <= self._tree.quota[holder.queue].get(fr, 0) for fr, amount in total.items())


def excess(bound: EvictionBound, cluster: KueueCluster) -> Mapping[str, tuple[FlavorResource, int]]:
    """Return the workloads above the limit of their queue, each with the resource and the limit.

    Those with the lowest priority and the latest admission exceed it.
    """
    found: dict[str, tuple[FlavorResource, int]] = {}
    used: dict[tuple[str, FlavorResource], int] = {}
    order = candidate_order(0.0, "")
    for holder in sorted(cluster.holders.values(), key=order, reverse=True):
        for fr, amount in sorted(holder.usage.items()):
            total = used[holder.queue, fr] = used.get((holder.queue, fr), 0) + amount
            limit = bound.limit(holder.queue, fr)
            if amount and total > limit:
                found.setdefault(holder.key, (fr, limit))
    return found
