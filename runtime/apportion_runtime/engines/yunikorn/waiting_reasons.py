"""Why the pods of YuniKorn wait, recorded only for workloads whose reason may have changed.

Not for partitions with placeholders or limits: there, the caller explains every pod.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from apportion_runtime.engines.kube_scheduler.pending_pods import PendingPod, PendingPods
from apportion_runtime.engines.yunikorn.allocations import Allocation
from apportion_runtime.engines.yunikorn.amounts import Amounts
from apportion_runtime.engines.yunikorn.fitting_nodes import Shape
from apportion_runtime.engines.yunikorn.partition import Partition
from apportion_runtime.engines.yunikorn.queues import Queue
from apportion_runtime.engines.yunikorn.scheduling_step import reason
from apportion_runtime.sim.api.cluster_state import ClusterState

_Key = tuple[Queue, Shape]


@dataclass(slots=True)
class _Group:
    """The pending pods of one queue with the same requests.

    Attributes:
        requests: By uid.
        bounded: The queue and its ancestors with a maximum, without the root.
        used: What these used when the reason was computed.
        why: The reason of all of them; None if it is not the same.
    """

    requests: dict[str, Allocation]
    bounded: tuple[Queue, ...]
    used: tuple[Amounts, ...] = ()
    why: str | None = None

    @property
    def is_current(self) -> bool:
        """Whether the reason was computed with the present usage."""
        if self.why is None:
            return False
        return all(known is queue.allocated for known, queue in zip(self.used, self.bounded, strict=True))


@dataclass(slots=True)
class WaitingReasons:
    """The reasons of pending pods.

    Args:
        cluster_state: The cluster.
        partition: The partition.
        pending: Its pending pods.
        request_of: Returns the request of a pod by its uid; None if it has none.
        explain: Records the reason of a pod.
    """

    cluster_state: ClusterState
    partition: Partition
    pending: PendingPods
    request_of: Callable[[str], Allocation | None]
    explain: Callable[[PendingPod, str | None], None]
    _groups: dict[_Key, _Group] = field(default_factory=dict[_Key, _Group])
    _key_of: dict[str, tuple[_Key, int]] = field(default_factory=dict[str, tuple[_Key, int]])
    """The group of each pod, and its workload."""
    _without: dict[str, None] = field(default_factory=dict[str, None])
    """The pods without a request."""
    _keys_of: dict[int, Counter[_Key]] = field(default_factory=dict[int, Counter[_Key]])
    _mixed: dict[int, None] = field(default_factory=dict[int, None])
    """The workloads whose pods are in several groups, so that their reasons alternate."""
    changed: dict[str, None] = field(init=False)
    """The pods that changed."""
    _waits: dict[int, None] = field(init=False)

    def __post_init__(self) -> None:
        self.changed = self.cluster_state.watch_pods()
        self._waits = self.cluster_state.watch_waits()

    def forget(self) -> None:
        """Explain every pod the next time."""
        for group in self._groups.values():
            group.why = None

    def _update(self) -> dict[int, None]:
        """Follow the pods that changed, and return the workloads of those that are pending."""
        found: dict[int, None] = {}
        for uid in self.changed:
            self._leave(uid)
            pod = self.pending.pods.get(uid)
            if pod is None:
                continue
            found[pod.workload] = None
            request = self.request_of(uid)
            if request is None:
                self._without[uid] = None
                continue
            queue = request.application.queue
            key = queue, request.shape
            self._key_of[uid] = key, pod.workload
            keys = self._keys_of.setdefault(pod.workload, Counter())
            keys[key] += 1
            if len(keys) > 1:
                self._mixed[pod.workload] = None
            group = self._groups.get(key)
            if group is None:
                bounded = tuple(each for each in queue.upward() if each.parent is not None and each.maximum is not None)
                group = self._groups[key] = _Group({}, bounded)
            group.requests[uid] = request
        self.changed.clear()
        return found

    def _leave(self, uid: str) -> None:
        self._without.pop(uid, None)
        if uid not in self._key_of:
            return
        key, workload = self._key_of.pop(uid)
        requests, keys = self._groups[key].requests, self._keys_of[workload]
        del requests[uid]
        if not requests:
            del self._groups[key]
        keys[key] -= 1
        if not keys[key]:
            del keys[key]
        if len(keys) < 2:
            self._mixed.pop(workload, None)
        if not keys:
            del self._keys_of[workload]

    def run(self) -> None:
        """Explain the pods whose reason may have changed."""
        numbers = {**self._update(), **self._waits, **self._mixed}
        pending = self.pending
        numbers.update((pending.pods[uid].workload, None) for uid in self._without)
        for key, group in self._groups.items():
            if self.partition.nodes.fitting.first(key[1]) is not None:
                # Their pods may not run on the nodes with room, for reasons of their own.
                group.why = None
            elif not group.is_current:
                why = reason(self.partition, next(iter(group.requests.values())))
                group.used = tuple(queue.allocated for queue in group.bounded)
                if why == group.why:
                    continue
                group.why = why
            else:
                continue
            numbers.update((pending.pods[uid].workload, None) for uid in group.requests)
        pods = [pod for number in numbers for pod in pending.of_workload.get(number, {}).values()]
        pods.sort(key=lambda pod: pod.place[1])
        self._waits.clear()
        for pod in pods:
            self.explain(pod, self._why(pod.uid))
        self._waits.clear()

    def _why(self, uid: str) -> str | None:
        known = self._key_of.get(uid)
        if known is None:
            return None
        group = self._groups[known[0]]
        return group.why if group.why is not None else reason(self.partition, group.requests[uid])
