"""The state that the parts of a simulation share: time, objects, records, history, and the pods there are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from apportion_runtime.core.snapshot import Pod
from apportion_runtime.core.status import PENDING
from apportion_runtime.sim.api.clock import Clock
from apportion_runtime.sim.api.events import CycleDue, EventQueue
from apportion_runtime.sim.api.object_store import Store
from apportion_runtime.sim.api.scheduler_records import Records
from apportion_runtime.sim.history import Fact, History
from apportion_runtime.sim.scenario.format import Timing


@dataclass(slots=True)
class PodState:
    """A pod: whose it is, its record, and how far its life has come. `leaving` says why it is being deleted."""

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
        """Whether the scheduler has to find it a place."""
        return self.record.group is not None and self.record.status == PENDING


@dataclass(slots=True)
class World:
    """What is simulated."""

    clock: Clock
    events: EventQueue
    store: Store
    records: Records
    history: History
    timing: Timing
    pods: dict[str, PodState] = field(default_factory=dict)
    pods_on: dict[str, dict[str, None]] = field(default_factory=dict)
    """By node the uids of the pods that were given a place there."""
    n_pending: int = 0
    """Pods of pod groups that have no place."""
    _cycle_at: float | None = None
    _last_cycle_at: float = -math.inf

    @property
    def now(self) -> float:
        """The moment, in seconds since 1970."""
        return self.clock.now

    @property
    def elapsed_s(self) -> float:
        """Seconds since the beginning."""
        return self.clock.elapsed_s

    def touch(self, at: float | None = None) -> None:
        """Have the scheduler look at the cluster at its next turn, or at its first one from a moment on."""
        earliest = self.now if at is None else max(at, self.now)
        period, start = self.timing.period_s, self.clock.start
        turn = start + math.ceil((earliest - start) / period) * period
        if turn <= self._last_cycle_at:
            turn = self._last_cycle_at + period
        if self._cycle_at is None or turn < self._cycle_at:
            self._cycle_at = turn
            self.events.plan(turn, CycleDue())

    def takes_turn(self) -> bool:
        """Tell whether the scheduler's turn is now, and count it; one that was moved forward is passed over."""
        if self._cycle_at is None or self._cycle_at > self.now:
            return False
        self._cycle_at, self._last_cycle_at = None, self.now
        return True

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
        """Note a fact, with what is known of the workload and the pod."""
        if not self.history.keeps_facts:
            return
        name = queue = ""
        if workload >= 0:
            of = self.history.workloads[workload]
            name, queue = of.name, of.queue
        self.history.note(Fact(self.elapsed_s, what, name, queue, pod, node, by, why, gpus, gpu_groups))
