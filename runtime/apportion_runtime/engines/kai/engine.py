"""The KAI Scheduler engine: its pod grouper and its cycle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from apportion_api.kai.names import DEFAULT_SCHEDULER
from apportion_runtime.admission.expansion import Slot, is_observed
from apportion_runtime.admission.expansion.ray import BY_JOB, submission_mode
from apportion_runtime.admission.objects import kind_of
from apportion_runtime.core.job import Job
from apportion_runtime.core.session import Session
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.core.status import PENDING
from apportion_runtime.engines.kai.scheduling_loop import Scheduler
from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.controllers.pod_groups import PodGrouper
from apportion_runtime.sim.controllers.running_workload import Running
from apportion_runtime.sim.controllers.workloads import Workloads
from apportion_runtime.sim.engine import Denied, Handlers
from apportion_runtime.sim.provisioning.autoscaler import Autoscaler
from apportion_runtime.sim.provisioning.node_pools import NodePools
from apportion_runtime.sim.provisioning.request_consumers import consuming
from apportion_runtime.sim.scenario.format import Manifest

CLASSES: Mapping[str, int] = {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125}
"""Priority classes that KAI Scheduler's chart installs (deployments/kai-scheduler/templates/priorityclasses)."""

_SCHEDULED_BY_OPERATOR = frozenset(("RayCluster", "RayJob", "RayService", "TrainJob"))
"""Kinds whose operator sets the scheduler of the pods, regardless of the templates."""
_REFUSED_MODE = (
    "KAI-Scheduler does not support RayJob with K8sJobMode: the submitter pod is created after RayCluster is ready, "
    "preventing proper gang scheduling"
)
"""KubeRay 1.6, ray-operator/controllers/ray/batchscheduler/kai-scheduler/kai_scheduler.go."""
_OVER_BOUNDS = frozenset(("OverLimit", "NonPreemptibleOverQuota", "QueueDoesNotExist"))


class Kai:
    """The KAI Scheduler engine."""

    name = "kai"
    remembers_workloads = False

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self._grouper = PodGrouper(cluster_state)

    @property
    def parents(self) -> Mapping[str, str | None]:
        """The parent of each queue."""
        return self._cluster_state.records.parents

    def begin(self, workloads: Workloads, pools: NodePools) -> None:
        """Start the engine on the workloads of the simulation."""
        self._pools = pools
        self._scheduler = Scheduler(self._cluster_state, workloads, self._after_cycle, lambda: pools.can_grow)
        self._autoscaler = Autoscaler(self._cluster_state, workloads, pools.pools)

    def handlers(self) -> Handlers:
        """Return the handlers of autoscaler events."""
        return self._autoscaler.handlers()

    def run_cycle(self) -> None:
        """Run a cycle unless it could have no effect."""
        self._scheduler.run_cycle()

    def admit(self, made: Manifest) -> Manifest:
        """Return the object as it is stored, unless its operator rejects it.

        A pod that consumes a ProvisioningRequest is restricted to its nodes.
        """
        if kind_of(made) == ("ray.io", "RayJob") and submission_mode(made) == BY_JOB:
            raise Denied(_REFUSED_MODE)
        return consuming(made, self._cluster_state.store)

    def made(self, running: Running) -> None:
        """Do nothing: KAI schedules pods."""

    def changed(self, running: Running) -> None:
        """Do nothing: KAI schedules pods."""

    def finished(self, running: Running) -> None:
        """Do nothing: KAI schedules pods."""

    def add_pod(self, running: Running, made: Manifest) -> Pod:
        """Create the pod's group if necessary, and read the pod."""
        if is_observed(running.manifest):
            self._grouper.add_pod(running, made)
            return self._cluster_state.records.put_pod(made)
        spec = made["spec"]
        if running.manifest["kind"] in _SCHEDULED_BY_OPERATOR and spec.get("schedulerName") != DEFAULT_SCHEDULER:
            made = self._cluster_state.store.update({**made, "spec": {**spec, "schedulerName": DEFAULT_SCHEDULER}})
        return self._grouper.put_pod(running, made)

    def create_like(self, running: Running, slot: Slot, name: str) -> tuple[Manifest, Pod] | None:
        """Create another pod of a Job in the group of the first, and read it."""
        if is_observed(running.manifest) or running.manifest["kind"] != "Job":
            return None
        return self._grouper.create_like(running, slot, name)

    def starts_together(self, running: Running) -> bool:
        """Return True: KAI places every gang as a whole."""
        return True

    def regroup(self, running: Running, made: Manifest) -> None:
        """Update the pod group to its workload."""
        self._grouper.regroup(running, made)

    def left(self, pod: PodState) -> None:
        """Handle the deletion of a pod: its node may be idle."""
        self._autoscaler.left(pod)

    def _after_cycle(self, session: Session) -> None:
        if self._pools.can_grow:
            self._pools.grow(tuple(_unplaced(session)))
            self._pools.settle()


def _unplaced(session: Session) -> Iterable[Pod]:
    for job in session.pending_jobs():
        if job.is_ready and not _is_bounded(job):
            yield from (task.pod for task in job.tasks.values() if task.status == PENDING)


def _is_bounded(job: Job) -> bool:
    return any(error.reason in _OVER_BOUNDS for error in job.fit_errors)
