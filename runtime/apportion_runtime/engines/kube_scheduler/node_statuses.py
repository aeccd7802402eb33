"""Why no node fits a pod: the filter status of each node, and kube-scheduler's message about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from apportion_runtime.engines.kube_scheduler.filter_status import FilterStatus

NO_NODES = "no nodes available to schedule pods"
"""The message in a cluster without nodes, where neither PreFilter nor PostFilter runs.

Source: kubernetes pkg/scheduler/schedule_one.go, schedulePod and schedulingCycle (ErrNoNodesAvailable).
"""


@dataclass(frozen=True, slots=True)
class NodeStatuses:
    """The statuses of all nodes.

    Attributes:
        counts: The number of nodes with each status.
        by_name: Returns the status of each node.
        n_nodes: The number of nodes.
    """

    counts: Mapping[FilterStatus, int]
    by_name: Callable[[], Mapping[str, FilterStatus]]
    n_nodes: int

    @property
    def n_helpful(self) -> int:
        """The number of nodes where an eviction may help."""
        return sum(count for status, count in self.counts.items() if not status.for_good)

    def explained(self, afterwards: str = "") -> str:
        """Return the scheduler's message."""
        return explained_counts(self.counts, self.n_nodes, afterwards)


def node_statuses(statuses: Mapping[str, FilterStatus], n_nodes: int) -> NodeStatuses:
    """Return the statuses of nodes by name."""
    return NodeStatuses(Counter(statuses.values()), lambda: statuses, n_nodes)


def explained(statuses: Iterable[FilterStatus], n_nodes: int, afterwards: str = "") -> str:
    """Return the scheduler's message for a pod that fits on no node."""
    return explained_counts(Counter(statuses), n_nodes, afterwards)


def explained_counts(statuses: Mapping[FilterStatus, int], n_nodes: int, afterwards: str = "") -> str:
    """Return the same, from the number of nodes with each status."""
    counts: Counter[str] = Counter()
    for status, count in statuses.items():
        for reason in status.reasons:
            counts[reason] += count
    message = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    text = f"0/{n_nodes} nodes are available:"
    return text + (f" {message}." if message else "") + (f" {afterwards}" if afterwards else "")


def no_victims(n_nodes: int, n_helpful: int) -> str:
    """Return why a search found no victims: evictions may help on some nodes, and not on the others."""
    messages = [(n_helpful, "No preemption victims found for incoming pod")] if n_helpful else []
    n_unhelpful = n_nodes - n_helpful
    messages += [(n_unhelpful, "Preemption is not helpful for scheduling")] if n_unhelpful else []
    return f"0/{n_nodes} nodes are available: {', '.join(f'{count} {what}' for count, what in messages)}."
