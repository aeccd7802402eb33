"""The ACK engine: kube-queue and the scheduler, with one quota tree for both."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_api.ack import names
from apportion_api.kubernetes.operators import RAY_SCHEDULER_LABEL
from apportion_runtime.admission.expansion import is_observed, is_suspended
from apportion_runtime.admission.objects import kind_of, labels_of, namespace_of, nested
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.engines.ack.kube_queue import KubeQueue
from apportion_runtime.engines.ack.scheduler import AckScheduler
from apportion_runtime.engines.base.engine import PlainEngine
from apportion_runtime.engines.kube_scheduler import read_profiles
from apportion_runtime.engines.kube_scheduler.profiles import KIND
from apportion_runtime.kube_queue import jobs
from apportion_runtime.kube_queue.amounts import GPU
from apportion_runtime.kube_queue.tree import Tree, TreeError, read_tree
from apportion_runtime.kube_queue.unsupported_settings import unsupported_settings
from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.controllers.job_events import JobChanged
from apportion_runtime.sim.controllers.running_workload import Running
from apportion_runtime.sim.controllers.workloads import Workloads
from apportion_runtime.sim.engine import Denied, Handlers, UnreadableError
from apportion_runtime.sim.history import Sample
from apportion_runtime.sim.provisioning.node_pools import NodePools
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.quantities import parse_time

_RAY_JOB = ("ray.io", "RayJob")


class Ack(PlainEngine):
    """The ACK engine."""

    name = "ack"

    def __init__(self, cluster_state: ClusterState) -> None:
        super().__init__(cluster_state)
        self.tree = _tree_of(cluster_state)
        self._shown = self.tree.shown()
        self._waited: Mapping[str, int] = {}
        self._profiles, _ = read_profiles(cluster_state.store.list(KIND))
        try:
            self.queue = KubeQueue(cluster_state, self.tree, self.pods.gangs)
        except ValueError as wrong:
            raise UnreadableError(str(wrong)) from None

    @property
    def parents(self) -> Mapping[str, str | None]:
        """The nodes of the tree."""
        shown = self._shown
        return {shown[path]: None if above is None else shown[above] for path, above in self.tree.parents.items()}

    def begin(self, workloads: Workloads, pools: NodePools) -> None:
        """Start the engine on the workloads of the simulation."""
        super().begin(workloads, pools)
        self.queue.begin(workloads)
        self.scheduler = AckScheduler(self.cluster_state, workloads, self.pods.facts, self._profiles, self.tree)

    def handlers(self) -> Handlers:
        """Return the handlers of autoscaler events and of changes to queued jobs."""
        return {**super().handlers(), JobChanged: self.queue.change}

    def admit(self, made: Manifest) -> Manifest:
        """Return an object as it is stored; a job with the suspend annotation is suspended."""
        if not jobs.is_known(made):
            return super().admit(made)
        made = jobs.held_back(made)
        if kind_of(made) == _RAY_JOB and is_suspended(made) and not nested(made, "spec", "shutdownAfterJobFinishes"):
            # KubeRay, ray-operator/controllers/ray/utils/validation.go.
            raise Denied("a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended")
        try:
            jobs.demand(made)
        except ValueError as wrong:
            raise Denied(f"{made['kind']} {namespace_of(made)}/{made['metadata']['name']}: {wrong}") from None
        return super().admit(made)

    def made(self, running: Running) -> None:
        """Record the quota of a workload, and enqueue the workload if it is suspended."""
        path = self.tree.quota_of(running.manifest)
        if path is not None:
            self.cluster_state.history.workloads[running.number].queue = self._shown[path]
        if is_observed(running.manifest):
            self.queue.observe(running)
        else:
            self.queue.add_job(running)

    def finished(self, running: Running) -> None:
        """Release the quota of a workload."""
        super().finished(running)
        self.queue.finished(running)

    def add_pod(self, running: Running, made: Manifest) -> Pod:
        """Read a new pod; a pod of a RayJob is marked as a gang member, as ACK's KubeRay does."""
        owner = made["metadata"]["ownerReferences"][0] if self.starts_together(running) else {}
        if owner.get("kind") == "RayCluster":
            n_members = sum(not slot.comes_last for slot in running.slots.values())
            marks = {names.GANG_NAME_LABEL: str(owner["name"]), names.GANG_MIN_LABEL: str(n_members)}
            metadata = {**made["metadata"], "labels": {**labels_of(made), **marks}}
            made = self.cluster_state.store.update({**made, "metadata": metadata})
        self.scheduler.members.add(made, self._created(made))
        record = super().add_pod(running, made)
        if record.node is not None:
            facts = self.pods.facts_of(record)
            self.scheduler.members.place(record.uid, facts.request, facts.priority)
        return record

    def _created(self, made: Manifest) -> float:
        """Return when a pod was created: now, or before the simulation if it is of a snapshot."""
        written = nested(made, "metadata", "creationTimestamp")
        created = self.cluster_state.now if written is None else parse_time(written)
        return created if created < self.cluster_state.clock.start else self.cluster_state.now

    def starts_together(self, running: Running) -> bool:
        """Return whether ACK's KubeRay marks the pods of a workload as a gang."""
        key, scheduler = RAY_SCHEDULER_LABEL, names.RAY_GANG_SCHEDULER
        return kind_of(running.manifest) == _RAY_JOB and labels_of(running.manifest).get(key) == scheduler

    def left(self, pod: PodState) -> None:
        """Handle the deletion of a pod."""
        self.scheduler.left(pod)
        super().left(pod)

    def run_cycle(self) -> None:
        """Dequeue jobs, and place pods."""
        self.cluster_state.history.n_cycles += 1
        self.queue.run_cycle()
        waiting = self.pods.waiting()
        unplaced = self.scheduler.run_cycle([pod for pod in waiting if self.scheduler.is_mine(pod.record)])
        for each in unplaced:
            self.explain(each.pod, each.why)
        for pod in waiting:
            if not self.scheduler.is_mine(pod.record):
                self.explain(pod, f"scheduler {pod.record.scheduler} does not exist")
        self.grow(each.pod for each in unplaced if not each.is_held)
        self._sample()

    def _sample(self) -> None:
        """Record the GPUs of quotas that changed: used, fair (the request up to `min`), guaranteed, requested."""
        members, queue = self.scheduler.members, self.queue
        waiting: dict[str, int] = {}
        for pod in self.pods.waiting():
            quota, gpus = members[pod.uid].quota, pod.request.get(GPU, 0)
            if quota is not None and gpus:
                for each in self.tree.upward(quota):
                    waiting[each.path] = waiting.get(each.path, 0) + gpus
        changed = dict.fromkeys((*queue.touched, *waiting, *self._waited))
        for leaf in members.touched:
            changed.update((each.path, None) for each in self.tree.upward(leaf))
        for path in changed:
            used, guaranteed = members.used[path].get(GPU, 0), self.tree.quotas[path].minimum.get(GPU, 0)
            wanted = used + queue.asked[path] + waiting.get(path, 0)
            sample = Sample(
                self.cluster_state.elapsed_s,
                float(used),
                float(min(guaranteed, wanted)),
                float(guaranteed),
                float(wanted),
            )
            self.cluster_state.history.sample(self._shown[path], sample)
        self._waited = waiting
        members.touched.clear()
        queue.touched.clear()


def _tree_of(cluster_state: ClusterState) -> Tree:
    """Return the quota tree. Raises `UnreadableError` if there is not exactly one, or if it is invalid or unsupported."""
    found = [
        made for made in cluster_state.store.list("ElasticQuotaTree") if namespace_of(made) == names.TREE_NAMESPACE
    ]
    if len(found) != 1:
        how_many = "no ElasticQuotaTree" if not found else f"{len(found)} ElasticQuotaTrees"
        raise UnreadableError(f"found {how_many} in namespace {names.TREE_NAMESPACE}; ACK requires exactly one")
    try:
        tree = read_tree(found[0])
    except TreeError as wrong:
        raise UnreadableError(f"ElasticQuotaTree {found[0]['metadata']['name']}: {wrong}") from None
    faults = [*map(str, unsupported_settings(found[0], cluster_state.store.list("Queue")))]
    if faults:
        raise UnreadableError("; ".join(faults))
    return tree
