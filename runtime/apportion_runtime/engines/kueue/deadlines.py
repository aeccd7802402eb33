"""Deadlines of workloads: the PodsReady timeout, the recovery timeout, and the maximum execution time.

Source: kubernetes-sigs/kueue v0.18.3, pkg/controller/core/workload_controller.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apportion_runtime.engines.kueue.workload_state import Phase, WorkloadState
from apportion_runtime.sim.api.events import EngineEvent
from apportion_runtime.sim.engine import Handlers

if TYPE_CHECKING:
    from apportion_runtime.engines.kueue.engine import Kueue


@dataclass(frozen=True, slots=True)
class ReadyDue(EngineEvent):
    """The PodsReady timeout of a workload expires."""

    key: str
    n_releases: int


@dataclass(frozen=True, slots=True)
class RecoveryDue(EngineEvent):
    """The recovery timeout of a lost pod expires."""

    key: str
    n_releases: int
    lost_at: float


@dataclass(frozen=True, slots=True)
class ExecutionTimeDue(EngineEvent):
    """The maximum execution time of a workload expires."""

    key: str
    n_releases: int


class Deadlines:
    """The deadlines of admitted workloads."""

    def __init__(self, engine: Kueue) -> None:
        self._engine = engine

    def handlers(self) -> Handlers:
        """Return the handlers of its events."""
        return {ReadyDue: self._ready_due, RecoveryDue: self._recovery_due, ExecutionTimeDue: self._time_is_up}

    def begin(self, unit: WorkloadState) -> None:
        """Start the deadlines of an admitted workload."""
        cluster_state, ready = self._engine.cluster_state, self._engine.configured.settings.pods_ready
        unit.admitted_at, unit.was_ready, unit.lost_at = cluster_state.now, False, None
        if ready is not None:
            cluster_state.events.plan(cluster_state.now + ready.timeout_s, ReadyDue(unit.key, unit.n_releases))
        if unit.longest_s is not None:
            cluster_state.events.plan(
                cluster_state.now + unit.longest_s - unit.spent_s, ExecutionTimeDue(unit.key, unit.n_releases)
            )

    def lost(self, unit: WorkloadState) -> None:
        """Start the recovery timeout for a lost pod of an admitted workload."""
        cluster_state, ready = self._engine.cluster_state, self._engine.configured.settings.pods_ready
        if ready is None or ready.recovery_s is None or not unit.was_ready:
            return
        if unit.lost_at is None or self._n_missing(unit) <= 1:
            unit.lost_at = cluster_state.now
            cluster_state.events.plan(
                cluster_state.now + ready.recovery_s, RecoveryDue(unit.key, unit.n_releases, cluster_state.now)
            )

    def _admitted(self, event: ReadyDue | RecoveryDue | ExecutionTimeDue) -> WorkloadState | None:
        unit = self._engine.units.get(event.key)
        return (
            unit if unit is not None and unit.n_releases == event.n_releases and unit.phase is Phase.ADMITTED else None
        )

    def _n_missing(self, unit: WorkloadState) -> int:
        """Return the number of pods that are not ready."""
        engine = self._engine
        if unit.pods:
            return sum(not pod.is_ready for pod in engine.pods_of(unit))
        running = engine.workloads.running[unit.number]
        last = {place.name for place in unit.pod_set_templates if place.is_last}
        wanted = sum(each.count for each in unit.assigned if each.name not in last)
        slots: Mapping[str, bool] = {key: slot.comes_last for key, slot in running.slots.items()}
        n_ready = sum(pod.is_ready and not slots.get(pod.slot, False) for pod in engine.pods_of(unit))
        return wanted - n_ready - len(running.done)

    def _ready_due(self, event: ReadyDue) -> None:
        unit = self._admitted(event)
        if unit is None:
            return
        if self._n_missing(unit) > 0:
            self._engine.leaving.not_ready(unit)
        else:
            unit.n_requeued, unit.was_ready = 0, True

    def _recovery_due(self, event: RecoveryDue) -> None:
        unit = self._admitted(event)
        if unit is None or unit.lost_at != event.lost_at:
            return
        unit.lost_at = None
        if self._n_missing(unit) > 0:
            self._engine.leaving.not_ready(unit)

    def _time_is_up(self, event: ExecutionTimeDue) -> None:
        unit = self._admitted(event)
        if unit is not None:
            self._engine.leaving.deactivate(unit, "exceeding the maximum execution time")
