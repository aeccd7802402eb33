"""Release of quota before a workload finishes: preemption, check retries, PodsReady timeout, deactivation.

The job is suspended, the quota is counted until the last pod is gone, and then the workload is queued again or
deactivated.

Source: kubernetes-sigs/kueue v0.18.3, pkg/scheduler/preemption/preemption.go,
pkg/controller/core/workload_controller.go.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from apportion_runtime.engines.kueue.pending_queues import queue_path
from apportion_runtime.engines.kueue.preemption import FAIR, IN_QUEUE, RECLAMATION, WHILE_BORROWING
from apportion_runtime.engines.kueue.provisioning_requests import backoff_s
from apportion_runtime.engines.kueue.quota_reservation import stop_job
from apportion_runtime.engines.kueue.workload_state import Phase, WorkloadState, set_status
from apportion_runtime.sim.history import ENDED_BY_EVICTION
from apportion_runtime.sim.kubelet.eviction import evict

if TYPE_CHECKING:
    from apportion_runtime.engines.kueue.engine import Kueue

_IN_WORDS = {
    IN_QUEUE: "prioritization in the ClusterQueue",
    RECLAMATION: "reclamation within the cohort",
    FAIR: "Fair Sharing within the cohort",
    WHILE_BORROWING: "reclamation within the cohort while borrowing",
}


class QuotaRelease:
    """Evicts workloads."""

    def __init__(self, engine: Kueue) -> None:
        self._engine = engine
        self._deactivated: dict[str, str] = {}

    def preempt(self, unit: WorkloadState, by: WorkloadState, reason: str) -> bool:
        """Preempt a workload for another; return False if it is being evicted already."""
        if unit.phase not in (Phase.RESERVED, Phase.ADMITTED):
            return False
        engine = self._engine
        message = (
            f"Preempted to accommodate a workload (UID: {by.uid}, JobUID: {by.uid}) due to "
            f"{_IN_WORDS[reason]}; preemptor path: {_path(engine, by)}; "
            f"preemptee path: {_path(engine, unit)}"
        )
        preemptor = engine.cluster_state.history.workloads[by.number].name
        engine.cluster_state.note("preempted", workload=unit.number, by=preemptor, why=f"{reason}: {message}")
        self.leave(unit, "Preempted", message, by=by, rule=reason)
        return True

    def try_again(self, unit: WorkloadState, check: str, message: str, base_s: float, most_s: float) -> None:
        """Retry a failed check: the workload releases its quota and backs off."""
        cluster_state = self._engine.cluster_state
        retries = unit.retries[check] = unit.retries.get(check, 0) + 1
        wait = backoff_s(retries, base_s, most_s)
        unit.not_before, unit.ordered_at = cluster_state.now + wait, cluster_state.now
        cluster_state.note(
            "retried",
            workload=unit.number,
            why=f"{check}: {message}; retry in {wait:.0f}s or later",
        )
        self.leave(unit, "AdmissionCheck", f"Evicted due to {check} requesting Retry: {message}")

    def not_ready(self, unit: WorkloadState) -> None:
        """Handle the PodsReady timeout of a workload."""
        cluster_state, ready = self._engine.cluster_state, self._engine.configured.settings.pods_ready
        assert ready is not None
        message = f"Exceeded the PodsReady timeout {unit.key}"
        if ready.limit is not None and unit.n_requeued + 1 > ready.limit:
            self.deactivate(unit, "exceeding the maximum number of re-queuing retries")
            return
        unit.n_requeued += 1
        unit.not_before = cluster_state.now + backoff_s(unit.n_requeued, ready.base_s, ready.most_s)
        if ready.by_eviction:
            unit.ordered_at = cluster_state.now
        self.leave(unit, "PodsReadyTimeout", message)

    def deactivate(self, unit: WorkloadState, message: str) -> None:
        """Deactivate a workload until a user activates it again."""
        engine = self._engine
        engine.cluster_state.note("deactivated", workload=unit.number, why=message)
        self._deactivated[unit.key] = message
        self.leave(unit, "Deactivated", message)

    def leave(
        self, unit: WorkloadState, reason: str, message: str, *, by: WorkloadState | None = None, rule: str = ""
    ) -> None:
        """Evict a workload: suspend its job, and terminate its pods."""
        engine, cluster_state = self._engine, self._engine.cluster_state
        was_admitted = unit.phase is Phase.ADMITTED
        if was_admitted:
            unit.spent_s += cluster_state.now - unit.admitted_at
        unit.phase = Phase.LEAVING
        engine.samples.changed(unit)
        if unit.holder is not None:
            unit.holder = replace(unit.holder, evicted=True)
            engine.holders.put(unit.holder)
        conditions = [("Evicted", True, reason, message), ("Admitted", False, "NoReservation", message)]
        set_status(cluster_state.store, unit, cluster_state.clock.text, conditions)
        engine.provisioner.forget(unit)
        if was_admitted:
            running = engine.workloads.running.get(unit.number)
            # The job's controller creates no new pods while these terminate.
            if running is not None and not unit.pods:
                running.is_suspended = True
            for pod in engine.pods_of(unit):
                if pod.is_bound:
                    evict(
                        cluster_state, engine.workloads.kubelet, pod,
                        action="preempt" if by is not None else "evict", rule=rule or reason, message=message,
                        for_workload=-1 if by is None else by.number,
                    )  # fmt: skip
                elif unit.pods:
                    engine.workloads.kubelet.stop(pod, ENDED_BY_EVICTION)
            if running is not None and not unit.pods:
                running.is_suspended = False
                stop_job(engine, unit)
        self.free_quota(unit)

    def free_quota(self, unit: WorkloadState) -> None:
        """Once the last pod of a workload is gone, release its quota, and queue it again unless it is deactivated."""
        engine = self._engine
        if any(not engine.pod_workloads.is_held_back(pod) for pod in engine.pods_of(unit)):
            return
        cluster_state = engine.cluster_state
        unit.holder, unit.flavors, unit.ready, unit.assigned = None, {}, {}, ()
        engine.samples.changed(unit)
        engine.holders.remove(unit.queue, unit.key)
        set_status(
            cluster_state.store, unit, cluster_state.clock.text, (("QuotaReserved", False, "Pending", unit.message),)
        )
        engine.queue_inadmissible(unit.queue)
        if unit.key in self._deactivated:
            unit.phase = Phase.INACTIVE
            engine.note_waiting(unit.number, f"The workload is deactivated: {self._deactivated.pop(unit.key)}")
            return
        engine.wait(unit)


def _path(engine: Kueue, unit: WorkloadState) -> str:
    """Return the path of a workload's queue from the root cohort, as in Kueue's messages."""
    return "/" + "/".join(reversed(queue_path(engine.parents, unit.queue)))
