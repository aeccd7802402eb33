"""Evictions by Kueue for pending workloads: its cycles, run on a cluster's Workloads.

The quota of evicted workloads is released before the next cycle, and they are requeued.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from apportion_api.kubernetes.names import NAMESPACE_LABEL
from apportion_review.fates.kueue_workloads import KueueCluster
from apportion_runtime.engines.kueue.last_cycle import Repetition
from apportion_runtime.engines.kueue.object_reader import selects
from apportion_runtime.engines.kueue.observed_workloads import pending_of
from apportion_runtime.engines.kueue.pending_queue import PendingQueue
from apportion_runtime.engines.kueue.quota_holders import QuotaHolders
from apportion_runtime.engines.kueue.records import Holder, Pending, Queue
from apportion_runtime.engines.kueue.scheduling_cycle import Entry, Outcome, Rules, run_cycle

_MAX_COMPARISONS = 600_000
"""Limit of queue heads times workloads with quota: about two seconds."""
_MAX_CYCLES = 400
"""Limit of cycles: two workloads may preempt each other endlessly."""
_NAME_LABEL = NAMESPACE_LABEL


@dataclass(frozen=True, slots=True)
class Eviction:
    """The reason of an eviction, and the queue of the preemptor."""

    reason: str
    queue: str


@dataclass(frozen=True, slots=True)
class Evictions:
    """Evicted workloads by namespace and name.

    `is_complete` is false if the cycles did not run to the end: further evictions are possible.
    """

    found: Mapping[str, Eviction]
    is_complete: bool


def evictions(cluster: KueueCluster, strategies: Sequence[str] | None, now: float) -> Evictions:
    """Run cycles until they repeat.

    Args:
        cluster: The cluster.
        strategies: Strategies of fair sharing; None without it.
        now: Time of the cluster.
    """
    rules = Rules(cluster.scheduled, cluster.cohorts, cluster.configured.rules.flavors, strategies)
    run = _Run(cluster)
    for workload in cluster.pending:
        run.queues[workload.queue].push(workload, now=now)
    waited = {workload.key: workload for workload in cluster.pending}

    def waits(holder: Holder) -> Pending:
        known = waited.get(holder.key)
        return known or pending_of(cluster.held[holder.key], holder.queue, cluster.configured)

    def refuses(workload: Pending, queue: Queue) -> str:
        return "" if _selects(cluster, queue, workload) else "namespace is not selected"

    n_compared = cycle = 0
    repetition = Repetition()
    while n_compared <= _MAX_COMPARISONS and cycle < _MAX_CYCLES:
        heads = [head for name in sorted(run.queues) if (head := run.queues[name].pop()) is not None]
        entries = run_cycle(rules, heads, run.holders.situation(now + cycle), refuses=refuses)
        changes = [run.apply(entry, now + cycle) for entry in entries]
        run.release(waits, now)
        if not heads or repetition.begins(heads, has_changed=any(changes)):
            return Evictions(run.found, is_complete=True)
        cycle += 1
        n_compared += len(heads) * max(len(cluster.holders), 1)
    return Evictions(run.found, is_complete=False)


def _selects(cluster: KueueCluster, queue: Queue, workload: Pending) -> bool:
    labels = {_NAME_LABEL: workload.namespace, **cluster.namespaces.get(workload.namespace, {})}
    return selects(queue.selector, labels)


class _Run:
    """The state of a cluster between two cycles."""

    def __init__(self, cluster: KueueCluster) -> None:
        holding = [holder for holder in cluster.holders.values() if holder.queue in cluster.scheduled]
        self.holders = QuotaHolders(cluster.scheduled.values(), cluster.cohorts, holding)
        self.queues = {
            name: PendingQueue(queue.strategy, partial(_selects, cluster, queue))
            for name, queue in cluster.scheduled.items()
        }
        self.found: dict[str, Eviction] = {}
        self._gone: dict[str, Holder] = {}

    def apply(self, entry: Entry, now: float) -> bool:
        """Apply the decision about a head; return whether it changed anything, or the head is inadmissible now."""
        workload = entry.workload
        if entry.outcome is Outcome.RESERVED:
            self.holders.put(
                Holder(
                    workload.key, workload.queue, entry.assignment.usage, workload.uid, workload.priority,
                    workload.ordered_at, reserved_at=now,
                )
            )  # fmt: skip
            return True
        is_new = False
        if entry.outcome is Outcome.PREEMPTING:
            for target in entry.targets:
                is_new = is_new or target.holder.key not in self._gone
                self._gone[target.holder.key] = target.holder
                self.found.setdefault(target.holder.key, Eviction(target.reason, workload.queue))
        queue = self.queues[workload.queue]
        queue.requeue(entry.again(), entry.why)
        return is_new or not queue.is_waiting(workload.key)

    def release(self, waits: Callable[[Holder], Pending], now: float) -> None:
        """Release the quota of evicted workloads, and requeue them."""
        for holder in self._gone.values():
            self.holders.remove(holder.queue, holder.key)
            self.queues[holder.queue].push(waits(holder), now=now)
        if self._gone:
            for queue in self.queues.values():
                queue.queue_inadmissible(now)
        self._gone = {}
