"""The pending workloads of one ClusterQueue: the next head, and those parked until something changes.

Source: kubernetes-sigs/kueue v0.18.3, pkg/cache/queue/cluster_queue.go and inadmissible_workloads.go.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace
from enum import Enum

from apportion_api.kueue.names import BEST_EFFORT, STRICT
from apportion_runtime.engines.kueue.records import Pending


class RequeueReason(Enum):
    """Why a workload goes back into its queue."""

    GENERIC = ""
    NO_FIT = "NoFit"
    NO_CANDIDATES = "PreemptionNoCandidates"
    PENDING_PREEMPTION = "PendingPreemption"
    AFTER_NOMINATION = "FailedAfterNomination"
    NAMESPACE = "NamespaceMismatch"


_AT_ONCE = (RequeueReason.PENDING_PREEMPTION, RequeueReason.AFTER_NOMINATION)
_HOPELESS = (RequeueReason.NO_FIT, RequeueReason.NO_CANDIDATES)


@dataclass(slots=True)
class PendingQueue:
    """One queue. Those that are parked come back by `wake`; those that back off, not before their time.

    Attributes:
        strategy: StrictFIFO never parks its head.
    """

    strategy: str = BEST_EFFORT
    _active: dict[str, Pending] = field(default_factory=dict)
    _heap: list[tuple[int, float, str, str]] = field(default_factory=list)
    _parked: dict[str, Pending] = field(default_factory=dict)
    _not_before: dict[str, float] = field(default_factory=dict)
    _hopeless: set[str] = field(default_factory=set)
    _sticky: str = ""

    @property
    def is_active(self) -> bool:
        """Whether anybody is to be looked at."""
        return bool(self._active)

    def is_waiting(self, key: str) -> bool:
        """Tell whether a workload is to be looked at."""
        return key in self._active

    def push(self, workload: Pending, *, now: float, not_before: float = 0.0) -> None:
        """Have a workload wait; it is not looked at before a moment."""
        self.remove(workload.key)
        if not_before > now:
            self._not_before[workload.key] = not_before
            self._parked[workload.key] = workload
        elif self.strategy == BEST_EFFORT and workload.shape in self._hopeless:
            self._parked[workload.key] = workload
        else:
            self._activate(workload)

    def _activate(self, workload: Pending) -> None:
        self._active[workload.key] = workload
        heapq.heappush(self._heap, _rank(workload))

    def remove(self, key: str) -> None:
        """Have a workload wait no more."""
        self._active.pop(key, None)
        self._parked.pop(key, None)
        self._not_before.pop(key, None)
        if self._sticky == key:
            self._sticky = ""

    def pop(self) -> Pending | None:
        """Return who is next, and take it out: the most important, then the one that waits for longest."""
        if self._sticky in self._active:
            return self._active.pop(self._sticky)
        while self._heap:
            rank = heapq.heappop(self._heap)
            workload = self._active.get(rank[-1])
            # What was taken out or changed its place since left its old place behind.
            if workload is not None and _rank(workload) == rank:
                return self._active.pop(workload.key)
        return None

    def give_back(self, workload: Pending, why: RequeueReason) -> None:
        """Have a workload wait again that was looked at in vain."""
        if why is RequeueReason.PENDING_PREEMPTION and self.strategy == BEST_EFFORT:
            self._sticky = workload.key
        at_once = why is not RequeueReason.NAMESPACE if self.strategy == STRICT else why in _AT_ONCE
        if at_once or any(workload.next_flavor.values()):
            self._activate(workload)
            return
        self._parked[workload.key] = workload
        if why in _HOPELESS and self.strategy == BEST_EFFORT and workload.shape:
            # What is like it would be looked at in vain, too.
            self._hopeless.add(workload.shape)
            for key in [key for key, other in self._active.items() if other.shape == workload.shape]:
                self._parked[key] = self._active.pop(key)

    def wake(self, now: float) -> bool:
        """Have those that are parked looked at again, and tell whether there are any."""
        self._hopeless.clear()
        ready = [key for key in self._parked if self._not_before.get(key, now) <= now]
        for key in ready:
            self._not_before.pop(key, None)
            # What was known of the flavors is out of date, too.
            self._activate(replace(self._parked.pop(key), next_flavor={}))
        return bool(ready)


def _rank(workload: Pending) -> tuple[int, float, str, str]:
    return -workload.priority, workload.ordered_at, workload.uid, workload.key
