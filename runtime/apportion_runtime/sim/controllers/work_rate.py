"""The rate at which a workload makes progress with the pods that are ready."""

from __future__ import annotations

from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.api.events import WorkDone
from apportion_runtime.sim.controllers.progress import Progress, is_satisfied
from apportion_runtime.sim.controllers.running_workload import ALL, Running


class WorkRate:
    """Recomputes the work rate whenever a pod begins or stops working."""

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state

    def update(self, running: Running, pod: PodState) -> None:
        """Recompute the rate from the pods that are ready now."""
        cluster_state = self._cluster_state
        group = running.group_of(pod.record.group)
        if group is not None:
            record = cluster_state.records.session_cache.groups().get(group.name)
            group.works = record is not None and is_satisfied(record.root, group.ready)
        progress = running.progress_of(pod.slot, self._gpus_per_worker(running, pod))
        if progress is None:
            return
        pace = self._of(running, pod)
        slot = ALL if running.ends_together else pod.slot
        if pace > 0.0:
            progress.gpus_per_worker = self._gpus_per_worker(running, pod)
        if pace == 0.0 and progress.pace > 0.0:
            cluster_state.history.workloads[running.number].lost_gpu_s += progress.stop(cluster_state.now)
        else:
            progress.change_rate(cluster_state.now, pace)
        self._plan_end(running, slot, progress)

    def _of(self, running: Running, pod: PodState) -> float:
        if not running.ends_together:
            return 1.0 if pod.is_ready else 0.0
        if not running.works:
            return 0.0
        ready = [
            uid
            for group in running.groups.values()
            if group.works
            for uid in group.pods
            if uid in self._cluster_state.pods and self._cluster_state.pods[uid].is_ready
        ]
        n_workers = sum(running.is_worker(self._cluster_state.pods[uid].slot) for uid in ready)
        has_workers = any(slot.is_worker for slot in running.slots.values())
        return float(n_workers if has_workers else bool(ready))

    def _gpus_per_worker(self, running: Running, pod: PodState) -> float:
        if not running.ends_together:
            return pod.gpus
        pods = [self._cluster_state.pods[uid] for uid in running.pods.values() if uid in self._cluster_state.pods]
        workers = sum(running.is_worker(made.slot) for made in pods)
        return sum(made.gpus for made in pods) / max(1, workers)

    def _plan_end(self, running: Running, slot: str, progress: Progress) -> None:
        at = progress.ends_at
        if at is not None:
            work = running.number, slot, progress.generation
            self._cluster_state.events.join(max(at, self._cluster_state.now), WorkDone, work)
