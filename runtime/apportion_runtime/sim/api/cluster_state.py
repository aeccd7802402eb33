"""The state that the parts of a simulation share: clock, API objects, scheduler records, history, pods."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from apportion_runtime.core.search_limit import SearchLimit
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.core.status import PENDING
from apportion_runtime.kube_queue.queueing import Queueing
from apportion_runtime.sim.api.clock import Clock
from apportion_runtime.sim.api.events import CycleDue, EventQueue
from apportion_runtime.sim.api.object_store import ObjectStore
from apportion_runtime.sim.api.scheduler_records import Records
from apportion_runtime.sim.history import Fact, History
from apportion_runtime.sim.scenario.format import Timing

_CYCLE = CycleDue()


@dataclass(slots=True)
class PodState:
    """A pod: its workload, its record and its phase. `leaving` is the reason it is being deleted."""

    uid: str
    namespace: str
    name: str
    workload: int
    slot: str
    record: Pod
    gpus: float = 0.0
    is_bound: bool = False
    runs: bool = False
    is_ready: bool = False
    leaving: str = ""

    @property
    def waits(self) -> bool:
        """Whether the scheduler has to find a node for it."""
        return self.record.group is not None and self.record.status == PENDING


@dataclass(slots=True)
class DevicesInUse:
    """The devices of a node that its pods use: the number of whole ones, and the number of pods on each shared one."""

    n_whole: int = 0
    n_sharing: dict[str, int] = field(default_factory=dict)

    def add(self, pod: Pod) -> None:
        """Add a pod."""
        if not pod.gpu_groups:
            self.n_whole += pod.gpu.count
        for group in pod.gpu_groups:
            self.n_sharing[group] = self.n_sharing.get(group, 0) + 1

    def remove(self, pod: Pod) -> None:
        """Remove a pod."""
        if not pod.gpu_groups:
            self.n_whole -= pod.gpu.count
        for group in pod.gpu_groups:
            self.n_sharing[group] -= 1
            if not self.n_sharing[group]:
                del self.n_sharing[group]


@dataclass(slots=True)
class ClusterState:
    """The shared state of a simulation. `store` has the API objects, `records` the scheduler core's view of them."""

    clock: Clock
    events: EventQueue
    store: ObjectStore
    records: Records
    history: History
    timing: Timing
    queueing: Queueing = Queueing.ACK
    pods: dict[str, PodState] = field(default_factory=dict)
    pods_on: dict[str, dict[str, None]] = field(default_factory=dict)
    """The UIDs of the pods bound to each node."""
    devices_in_use: dict[str, DevicesInUse] = field(default_factory=dict)
    """The devices of nodes that were counted before, updated by `occupy` and `vacate`."""
    n_pending: int = 0
    """Pods of pod groups that are not bound."""
    search_limit: SearchLimit | None = None
    """The limit of victim searches; only KAI's core applies it, and ends a cycle that exceeds it."""
    _changed_pods: list[dict[str, None]] = field(default_factory=list)
    _changed_nodes: list[dict[str, None]] = field(default_factory=list)
    _changed_waits: list[dict[int, None]] = field(default_factory=list)
    _cycle_at: float | None = None
    _last_cycle_at: float = -math.inf
    _requested_at: float = -math.inf
    """When the next cycle was last requested without a time; -inf if it was not."""

    @property
    def now(self) -> float:
        """The simulated time, in seconds since 1970."""
        return self.clock.now

    @property
    def elapsed_s(self) -> float:
        """Seconds since the simulation began."""
        return self.clock.elapsed_s

    def watch_pods(self) -> dict[str, None]:
        """Return a new set of uids, to which each pod is added when its state changes; the caller clears it."""
        changed: dict[str, None] = {}
        self._changed_pods.append(changed)
        return changed

    def pod_changed(self, uid: str) -> None:
        """Notify the watchers of a pod's creation, change or removal."""
        for changed in self._changed_pods:
            changed[uid] = None

    def watch_waits(self) -> dict[int, None]:
        """Return a new set, to which the number of each workload is added whose reason to wait changes; the caller clears it."""
        changed: dict[int, None] = {}
        self._changed_waits.append(changed)
        return changed

    def wait_changed(self, workload: int) -> None:
        """Notify the watchers of a new reason of a workload to wait, or of the end of its wait."""
        for changed in self._changed_waits:
            changed[workload] = None

    def watch_nodes(self) -> dict[str, None]:
        """Return a new set of nodes, to which each node is added when its pods change; the caller clears it."""
        changed: dict[str, None] = {}
        self._changed_nodes.append(changed)
        return changed

    def occupy(self, node: str, uid: str) -> None:
        """Add a pod to a node."""
        self.pods_on.setdefault(node, {})[uid] = None
        in_use = self.devices_in_use.get(node)
        if in_use is not None:
            in_use.add(self.pods[uid].record)
        for changed in self._changed_nodes:
            changed[node] = None

    def vacate(self, node: str, uid: str, record: Pod | None = None) -> None:
        """Remove a pod from a node, if it is there; without its record, the devices in use are counted again."""
        if record is None or uid not in self.pods_on.get(node, ()):
            self.devices_in_use.pop(node, None)
        self.pods_on.get(node, {}).pop(uid, None)
        in_use = self.devices_in_use.get(node)
        if in_use is not None and record is not None:
            in_use.remove(record)
        for changed in self._changed_nodes:
            changed[node] = None

    def request_cycle(self, at: float | None = None) -> None:
        """Request a scheduling cycle: the next one of the period, or the first one at or after a given time."""
        now = self.now
        if at is None:
            if self._requested_at == now and self._cycle_at is not None:
                return
            self._requested_at = now
        earliest = now if at is None else max(at, now)
        period, start = self.timing.period_s, self.clock.start
        cycle_at = start + math.ceil((earliest - start) / period) * period
        if cycle_at <= self._last_cycle_at:
            cycle_at = self._last_cycle_at + period
        if self._cycle_at is None or cycle_at < self._cycle_at:
            self._cycle_at = cycle_at
            self.events.plan(cycle_at, _CYCLE)

    def begins_cycle(self) -> bool:
        """Whether a requested cycle is due; marks it as begun. An event left over from a cycle that was moved is skipped."""
        if self._cycle_at is None or self._cycle_at > self.now:
            return False
        self._cycle_at, self._last_cycle_at, self._requested_at = None, self.now, -math.inf
        return True

    def note_wait(self, workload: int, why: str, *, what: str = "waiting", pod: str = "") -> None:
        """Record why a workload waits, unless that is the reason already."""
        facts = self.history.workloads[workload]
        if facts.why_waiting != why:
            facts.why_waiting = why
            self.wait_changed(workload)
            self.note(what, workload=workload, pod=pod, why=why)

    def note(
        self,
        what: str,
        *,
        workload: int = -1,
        pod: str = "",
        node: str = "",
        by: str = "",
        why: str = "",
        gpus: float = 0.0,
        gpu_groups: tuple[str, ...] = (),
    ) -> None:
        """Record an event in the history, with the name and queue of its workload."""
        if not self.history.keeps_facts:
            return
        name = queue = ""
        if workload >= 0:
            of = self.history.workloads[workload]
            name, queue = of.name, of.queue
        self.history.note(Fact(self.elapsed_s, what, name, queue, pod, node, by, why, gpus, gpu_groups))
