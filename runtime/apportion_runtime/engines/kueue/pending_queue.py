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


_Rank = tuple[int, float, str, str]


@dataclass(slots=True)
class _Group:
    """The workloads of one shape and namespace, which are active or inadmissible together."""

    members: dict[str, Pending] = field(default_factory=dict)
    heap: list[_Rank] = field(default_factory=list)
    """The ranks of its workloads, also of those that were removed."""
    is_active: bool = False

    def first(self) -> _Rank | None:
        """Return the rank of its next workload."""
        while self.heap:
            rank = self.heap[0]
            workload = self.members.get(rank[-1])
            # Removed or reordered workloads leave stale entries in the heap.
            if workload is not None and _rank(workload) == rank:
                return rank
            heapq.heappop(self.heap)
        return None


@dataclass(slots=True)
class PendingQueue:
    """A ClusterQueue. `queue_inadmissible` requeues inadmissible workloads, except those in backoff.

    Attributes:
        strategy: With StrictFIFO, the head is never inadmissible, unless the queue does not select its namespace.
        selects: Returns whether the queue selects the namespace of a workload; others stay inadmissible.
        is_active: Whether any workload is active.
    """

    strategy: str = BEST_EFFORT
    selects: Callable[[Pending], bool] = lambda workload: True
    is_active: bool = False
    _n_active: int = 0
    _groups: dict[str, dict[str, _Group]] = field(default_factory=dict)
    """By shape, and by namespace; a workload without a shape has its own."""
    _group_of: dict[str, tuple[str, str, _Group]] = field(default_factory=dict)
    """By workload."""
    _heap: list[_Rank] = field(default_factory=list)
    """The ranks of active workloads, among them the first one of each group, and stale ones."""
    _inadmissible: dict[str, Pending] = field(default_factory=dict)
    """Workloads that are inadmissible for another reason than their shape."""
    _not_before: dict[str, float] = field(default_factory=dict)
    _no_fit_shapes: set[str] = field(default_factory=set)
    _sticky: str = ""

    @property
    def has_inadmissible(self) -> bool:
        """Whether any workload or shape is inadmissible."""
        return bool(self._inadmissible or self._no_fit_shapes) or self._n_active < len(self._group_of)

    def is_waiting(self, key: str) -> bool:
        """Return whether a workload is active."""
        found = self._group_of.get(key)
        return found is not None and found[-1].is_active

    def push(self, workload: Pending, *, now: float, not_before: float = 0.0) -> None:
        """Add a workload, which is not considered before a given time."""
        self.remove(workload.key)
        if not_before > now:
            self._not_before[workload.key] = not_before
            self._inadmissible[workload.key] = workload
        else:
            is_active = self.strategy != BEST_EFFORT or workload.shape not in self._no_fit_shapes
            self._join(workload, is_active=is_active)

    def _join(self, workload: Pending, *, is_active: bool) -> None:
        """Add a workload to its group, which becomes active or inadmissible."""
        shape, namespace = workload.shape or f"of {workload.key}", workload.namespace
        of_shape = self._groups.setdefault(shape, {})
        group = of_shape.get(namespace)
        if group is None:
            group = of_shape[namespace] = _Group(is_active=is_active)
        elif group.is_active is not is_active:
            self._turn(group, is_active=is_active)
        rank = _rank(workload)
        group.members[workload.key] = workload
        heapq.heappush(group.heap, rank)
        self._group_of[workload.key] = shape, namespace, group
        if is_active:
            self._count(1)
            heapq.heappush(self._heap, rank)

    def _turn(self, group: _Group, *, is_active: bool) -> None:
        """Make a group active or inadmissible."""
        group.is_active = is_active
        if not is_active:
            self._count(-len(group.members))
        elif (first := group.first()) is not None:
            self._count(len(group.members))
            heapq.heappush(self._heap, first)

    def _count(self, n_more: int) -> None:
        self._n_active += n_more
        self.is_active = self._n_active > 0

    def remove(self, key: str) -> None:
        """Remove a workload."""
        self._leave_group(key)
        self._inadmissible.pop(key, None)
        self._not_before.pop(key, None)
        if self._sticky == key:
            self._sticky = ""

    def _leave_group(self, key: str) -> None:
        found = self._group_of.pop(key, None)
        if found is None:
            return
        shape, namespace, group = found
        del group.members[key]
        if group.is_active:
            self._count(-1)
        if not group.members:
            del self._groups[shape][namespace]
            if not self._groups[shape]:
                del self._groups[shape]
        elif group.is_active and (first := group.first()) is not None:
            heapq.heappush(self._heap, first)

    def head(self) -> Pending | None:
        """Return the head: the highest priority, then the longest wait."""
        if self._sticky and self.is_waiting(self._sticky):
            return self._group_of[self._sticky][-1].members[self._sticky]
        while self._heap:
            key = self._heap[0][-1]
            found = self._group_of.get(key)
            if found is not None and found[-1].is_active:
                workload = found[-1].members[key]
                if _rank(workload) == self._heap[0]:
                    return workload
            heapq.heappop(self._heap)
        return None

    def pop(self) -> Pending | None:
        """Remove and return the head."""
        workload = self.head()
        if workload is not None:
            self.remove_head(workload)
        return workload

    def remove_head(self, workload: Pending) -> None:
        """Remove the head, which keeps its place if it is pending preemption."""
        self._leave_group(workload.key)

    def fail(self, workload: Pending) -> None:
        """Make the head inadmissible, and all workloads of its shape, without removing it; it may differ in what it tries next."""
        shape, _, group = self._group_of[workload.key]
        group.members[workload.key] = workload
        self._exclude(shape)

    def _exclude(self, shape: str) -> None:
        """Make the workloads of a shape inadmissible: equivalent ones would not be admitted either."""
        self._no_fit_shapes.add(shape)
        for group in self._groups[shape].values():
            if group.is_active:
                self._turn(group, is_active=False)

    def requeue(self, workload: Pending, why: RequeueReason) -> None:
        """Requeue a workload that was not admitted."""
        if why is RequeueReason.PENDING_PREEMPTION and self.strategy == BEST_EFFORT:
            self._sticky = workload.key
        at_once = why is not RequeueReason.NAMESPACE if self.strategy == STRICT else why in _AT_ONCE
        if at_once or any(workload.next_flavor.values()):
            self._join(workload, is_active=True)
        elif why in _NO_FIT_REASONS and self.strategy == BEST_EFFORT and workload.shape:
            self._join(workload, is_active=False)
            self._exclude(workload.shape)
        else:
            self._inadmissible[workload.key] = workload

    def queue_inadmissible(self, now: float) -> bool:
        """Requeue the inadmissible workloads, and return whether there are any."""
        self._no_fit_shapes.clear()
        n_active = self._n_active
        unselected: list[Pending] = []
        for of_shape in self._groups.values():
            for group in of_shape.values():
                if group.is_active:
                    continue
                if self.selects(next(iter(group.members.values()))):
                    self._turn(group, is_active=True)
                else:
                    unselected += group.members.values()
        for workload in unselected:
            self._leave_group(workload.key)
            self._inadmissible[workload.key] = workload
        ready = [
            key
            for key, workload in self._inadmissible.items()
            if self._not_before.get(key, now) <= now and self.selects(workload)
        ]
        for key in ready:
            self._not_before.pop(key, None)
            self._join(self._inadmissible.pop(key), is_active=True)
        return self._n_active > n_active


def _rank(workload: Pending) -> _Rank:
    return -workload.priority, workload.ordered_at, workload.uid, workload.key
