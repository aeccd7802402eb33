"""The pending workloads of every ClusterQueue: the heads of a cycle, and the requeuing of a cohort whose quota changed.

Source: kubernetes-sigs/kueue v0.18.3, pkg/cache/queue/manager.go and inadmissible_workloads.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from apportion_runtime.engines.kueue.pending_queue import PendingQueue
from apportion_runtime.engines.kueue.records import Pending, Queue
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.api.events import EngineEvent
from apportion_runtime.sim.engine import Handlers

Parents = Mapping[str, str | None]
"""ClusterQueues and Cohorts, and the Cohort of each."""
Fails = Callable[[PendingQueue, Pending], bool]


@dataclass(frozen=True, slots=True)
class BackoffEnds(EngineEvent):
    """A workload that backs off may be considered again."""


class PendingQueues:
    """The pending workloads by ClusterQueue.

    Args:
        cluster_state: The cluster, which runs a cycle once a queue changes.
        queues: The ClusterQueues.
        parents: Returns the hierarchy as it is configured at that time.
        selects: Returns whether a queue selects the namespace of a workload.
    """

    def __init__(
        self,
        cluster_state: ClusterState,
        queues: Iterable[Queue],
        parents: Callable[[], Parents],
        selects: Callable[[Queue, Pending], bool],
    ) -> None:
        self._cluster_state = cluster_state
        self._parents = parents
        by_name = sorted(queues, key=lambda queue: queue.name)
        self._queues = {queue.name: PendingQueue(queue.strategy, partial(selects, queue)) for queue in by_name}
        self._freed: list[str] = []
        self._requested: dict[str, float] = {}
        """The queues of cohorts whose quota was freed, and when: their inadmissible workloads are requeued before a queue is read or changed."""
        # The queues of each root cohort, in the hierarchy for which they were collected.
        self._of_root: dict[str, list[str]] = {}
        self._collected_for: Parents | None = None

    def __contains__(self, queue: str) -> bool:
        return queue in self._queues

    def __getitem__(self, queue: str) -> PendingQueue:
        self._settle((queue,))
        return self._queues[queue]

    def handlers(self) -> Handlers:
        """Return the handlers of its events."""
        return {BackoffEnds: lambda _: self._queue_inadmissible(self._queues)}

    def push(self, workload: Pending, not_before: float) -> None:
        """Add a workload to its queue; it is not considered before a point in time."""
        now = self._cluster_state.now
        self[workload.queue].push(workload, now=now, not_before=not_before)
        if not_before > now:
            self._cluster_state.events.plan(not_before, BackoffEnds())
        self._cluster_state.request_cycle()

    def remove(self, queue: str, key: str) -> None:
        """Remove a workload from its queue, if that exists."""
        if queue in self._queues:
            self[queue].remove(key)

    def heads(self, fails: Fails | None = None) -> tuple[list[Pending], bool]:
        """Return the head of each active queue, which keeps its place, and whether any failed; from now on, queues with freed quota are collected again.

        Args:
            fails: Makes a head inadmissible that fails for certain, and returns whether it does.
        """
        self._freed = []
        self._settle(tuple(self._requested))
        heads: list[Pending] = []
        has_failed = False
        for queue in self._queues.values():
            if queue.is_active:
                head = queue.head()
                if head is None:
                    continue
                if fails is not None and fails(queue, head):
                    has_failed = True
                else:
                    heads.append(head)
        return heads, has_failed

    def take(self, heads: Iterable[Pending]) -> None:
        """Remove heads from their queues."""
        for head in heads:
            self[head.queue].remove_head(head)

    def queue_inadmissible(self, queue: str) -> None:
        """Requeue the inadmissible workloads of a queue's whole cohort: quota was freed."""
        self._freed.append(queue)
        self._queue_inadmissible(self._of_cohort(queue))

    def queue_inadmissible_of_freed(self) -> None:
        """Requeue the inadmissible workloads of the cohorts whose quota was freed since the heads were read, for heads that become inadmissible after that."""
        for queue in tuple(dict.fromkeys(self._freed)):
            self.queue_inadmissible(queue)

    def _queue_inadmissible(self, queues: Iterable[str]) -> None:
        self._requested.update(dict.fromkeys(queues, self._cluster_state.now))
        self._cluster_state.request_cycle()

    def _settle(self, queues: Iterable[str]) -> None:
        for name in queues:
            at = self._requested.pop(name, None)
            if at is not None and (queue := self._queues[name]).has_inadmissible:
                queue.queue_inadmissible(at)

    def _of_cohort(self, queue: str) -> Sequence[str]:
        parents = self._parents()
        if self._collected_for is not parents:
            self._collected_for = parents
            self._of_root.clear()
            for name in self._queues:
                self._of_root.setdefault(queue_path(parents, name)[-1], []).append(name)
        return self._of_root.get(queue_path(parents, queue)[-1], ())


def queue_path(parents: Parents, queue: str) -> list[str]:
    """Return a queue and its ancestor cohorts, the root last; a cycle is followed once."""
    path = [queue]
    while (above := parents.get(path[-1])) is not None and above not in path:
        path.append(above)
    return path
