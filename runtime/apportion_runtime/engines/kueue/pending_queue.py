"""The pending workloads of one ClusterQueue: the next head, and inadmissible ones until the cluster changes.

Source: kubernetes-sigs/kueue v0.18.3, pkg/cache/queue/cluster_queue.go and inadmissible_workloads.go.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from apportion_api.kueue.names import BEST_EFFORT, STRICT
from apportion_runtime.engines.kueue.records import Pending


class RequeueReason(Enum):
    """The reason for requeuing a workload."""

    GENERIC = ""
    NO_FIT = "NoFit"
    NO_CANDIDATES = "PreemptionNoCandidates"
    PENDING_PREEMPTION = "PendingPreemption"
    AFTER_NOMINATION = "FailedAfterNomination"
    NAMESPACE = "NamespaceMismatch"


_AT_ONCE = (RequeueReason.PENDING_PREEMPTION, RequeueReason.AFTER_NOMINATION)
_NO_FIT_REASONS = (RequeueReason.NO_FIT, RequeueReason.NO_CANDIDATES)


@dataclass(slots=True)
class PendingQueue:
    """A ClusterQueue. `queue_inadmissible` requeues inadmissible workloads, except those in backoff.

    Attributes:
        strategy: With StrictFIFO, the head is never inadmissible, unless the queue does not select its namespace.
        selects: Returns whether the queue selects the namespace of a workload; others stay inadmissible.
    """

    strategy: str = BEST_EFFORT
    selects: Callable[[Pending], bool] = lambda workload: True
    _active: dict[str, Pending] = field(default_factory=dict)
    _heap: list[tuple[int, float, str, str]] = field(default_factory=list)
    _inadmissible: dict[str, Pending] = field(default_factory=dict)
    _not_before: dict[str, float] = field(default_factory=dict)
    _no_fit_shapes: set[str] = field(default_factory=set)
    _sticky: str = ""

    @property
    def is_active(self) -> bool:
        """Whether any workload is active."""
        return bool(self._active)

    @property
    def has_inadmissible(self) -> bool:
        """Whether any workload or shape is inadmissible."""
        return bool(self._inadmissible or self._no_fit_shapes)

    def is_waiting(self, key: str) -> bool:
        """Return whether a workload is active."""
        return key in self._active

    def push(self, workload: Pending, *, now: float, not_before: float = 0.0) -> None:
        """Add a workload, which is not considered before a given time."""
        self.remove(workload.key)
        if not_before > now:
            self._not_before[workload.key] = not_before
            self._inadmissible[workload.key] = workload
        elif self.strategy == BEST_EFFORT and workload.shape in self._no_fit_shapes:
            self._inadmissible[workload.key] = workload
        else:
            self._activate(workload)

    def _activate(self, workload: Pending) -> None:
        self._active[workload.key] = workload
        heapq.heappush(self._heap, _rank(workload))

    def remove(self, key: str) -> None:
        """Remove a workload."""
        self._active.pop(key, None)
        self._inadmissible.pop(key, None)
        self._not_before.pop(key, None)
        if self._sticky == key:
            self._sticky = ""

    def pop(self) -> Pending | None:
        """Remove and return the head: the highest priority, then the longest wait."""
        if self._sticky in self._active:
            return self._active.pop(self._sticky)
        while self._heap:
            rank = heapq.heappop(self._heap)
            workload = self._active.get(rank[-1])
            # Removed or reordered workloads leave stale entries in the heap.
            if workload is not None and _rank(workload) == rank:
                return self._active.pop(workload.key)
        return None

    def requeue(self, workload: Pending, why: RequeueReason) -> None:
        """Requeue a workload that was not admitted."""
        if why is RequeueReason.PENDING_PREEMPTION and self.strategy == BEST_EFFORT:
            self._sticky = workload.key
        at_once = why is not RequeueReason.NAMESPACE if self.strategy == STRICT else why in _AT_ONCE
        if at_once or any(workload.next_flavor.values()):
            self._activate(workload)
            return
        self._inadmissible[workload.key] = workload
        if why in _NO_FIT_REASONS and self.strategy == BEST_EFFORT and workload.shape:
            # Equivalent workloads would not be admitted either.
            self._no_fit_shapes.add(workload.shape)
            for key in [key for key, other in self._active.items() if other.shape == workload.shape]:
                self._inadmissible[key] = self._active.pop(key)

    def queue_inadmissible(self, now: float) -> bool:
        """Requeue the inadmissible workloads, and return whether there are any."""
        self._no_fit_shapes.clear()
        ready = [
            key
            for key, workload in self._inadmissible.items()
            if self._not_before.get(key, now) <= now and self.selects(workload)
        ]
        for key in ready:
            self._not_before.pop(key, None)
            self._activate(self._inadmissible.pop(key))
        return bool(ready)


def _rank(workload: Pending) -> tuple[int, float, str, str]:
    return -workload.priority, workload.ordered_at, workload.uid, workload.key
