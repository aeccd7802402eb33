"""The CronJob controller: creates Jobs when they are due, subject to the concurrency policy.

Source: pkg/controller/cronjob/cronjob_controllerv2.go at Kubernetes v1.36.3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from apportion_runtime.admission.expansion import job_of
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.api.events import CronDue
from apportion_runtime.sim.controllers.cron_schedule import due_times
from apportion_runtime.sim.scenario.format import Manifest

if TYPE_CHECKING:
    from apportion_runtime.sim.controllers.workloads import Workloads

_FORBID, _REPLACE = "Forbid", "Replace"


class CronJobs:
    """The CronJobs of a simulation, by the number of their workload."""

    def __init__(self, cluster_state: ClusterState, workloads: Workloads) -> None:
        self._cluster_state = cluster_state
        self._workloads = workloads
        self._made: dict[int, list[int]] = {}

    def begin(self, number: int, made: Manifest) -> None:
        """Schedule the first Job of a new CronJob. Raises `ValueError` for an invalid schedule."""
        at = self._next(made, self._cluster_state.now)
        self._cluster_state.note("arrived", workload=number)
        if at is not None:
            self._cluster_state.events.plan(at, CronDue(number, 1))

    def _next(self, made: Manifest, after: float) -> float | None:
        spec = made["spec"]
        return next(due_times(spec.get("schedule") or "", after, spec.get("timeZone") or "UTC"), None)

    def make(self, number: int, count: int) -> None:
        """Create the next Job of a CronJob, and schedule the one after it."""
        cluster_state, work = self._cluster_state, self._workloads.works[number]
        facts = cluster_state.history.workloads[number]
        cron_job = cluster_state.store.get("CronJob", facts.namespace, facts.name)
        if cron_job is None:
            return
        at = self._next(cron_job, cluster_state.now + 1)
        if at is not None:
            cluster_state.events.plan(at, CronDue(number, count + 1))
        if cron_job["spec"].get("suspend") or not self._has_way(number, cron_job):
            return
        made = job_of(cron_job, count)
        made["metadata"]["ownerReferences"][0]["uid"] = cron_job["metadata"]["uid"]
        own = replace(work, manifest=made, arrives_s=cluster_state.elapsed_s, lifetime_s=None, scalings=())
        job = self._workloads.add(own)
        self._made.setdefault(number, []).append(job)
        self._workloads.arrive(job)

    def _has_way(self, number: int, cron_job: Manifest) -> bool:
        """Return whether a Job may be created now under the concurrency policy; `Replace` deletes the running one."""
        policy = cron_job["spec"].get("concurrencyPolicy")
        active = [job for job in self._made.get(number, ()) if job in self._workloads.running]
        if active and policy == _FORBID:
            why = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._cluster_state.note("skipped", workload=number, why=why)
            return False
        if policy == _REPLACE:
            for job in active:
                self._workloads.leave(job)
        return True
