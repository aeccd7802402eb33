"""What every engine but KAI builds upon: pods as the API server admits them, and what kube-scheduler knows of them.

An engine of its own begins with `PlainEngine` and changes what it does otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from apportion_runtime.admission.objects import kind_of, labels_of
from apportion_runtime.core.snapshot import Expression, Pod
from apportion_runtime.engines.base.gangs import Gangs
from apportion_runtime.engines.kube_scheduler.pods import PodFacts, pod_facts
from apportion_runtime.sim.api.admission import Admission
from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.controllers.running_workload import Running
from apportion_runtime.sim.controllers.workloads import Workloads
from apportion_runtime.sim.engine import Handlers
from apportion_runtime.sim.provisioning.autoscaler import Autoscaler
from apportion_runtime.sim.provisioning.node_pools import NodePools
from apportion_runtime.sim.provisioning.request_consumers import consuming
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.kubernetes.terms import label_selector

_SPREAD_BY_DEFAULT = frozenset((("apps", "ReplicaSet"), ("apps", "StatefulSet")))


class Pods:
    """The pods of a cluster, as kube-scheduler knows them."""

    def __init__(self, cluster_state: ClusterState, gangs: Gangs | None = None) -> None:
        self._cluster_state = cluster_state
        self._facts: dict[str, PodFacts] = {}
        self._shapes: dict[tuple[int, str], tuple[Manifest, PodFacts]] = {}
        self._unplaced: dict[str, None] = {}
        self.gangs = gangs or Gangs(cluster_state)

    def take_in(self, running: Running, made: Manifest) -> Pod:
        """Read a pod that was just made, and have it belong to its gang."""
        record = self.gangs.take_in(running, made)
        spec = made["spec"]
        key = (running.number, record.sub_group)
        known = self._shapes.get(key)
        if known is not None and known[0] == spec:
            facts = replace(known[1], record=record)
        else:
            facts = pod_facts(
                made,
                record,
                priority=int(spec.get("priority") or 0),
                may_preempt=spec.get("preemptionPolicy") != "Never",
                owner=self._owner(made),
            )
            self._shapes[key] = (spec, facts)
        self._facts[record.uid] = facts
        self._unplaced[record.uid] = None
        return record

    def _owner(self, made: Manifest) -> tuple[Expression, ...] | None:
        """Return what chooses the pods of a pod's ReplicaSet or StatefulSet, among which it spreads by default."""
        for reference in made["metadata"].get("ownerReferences") or ():
            owner = self._cluster_state.store.get(reference["kind"], made["metadata"]["namespace"], reference["name"])
            if owner is not None and kind_of(owner) in _SPREAD_BY_DEFAULT:
                return label_selector(owner["spec"].get("selector") or {"matchLabels": dict(labels_of(made))})
        return None

    def facts_of(self, record: Pod) -> PodFacts:
        """Return what is known of a pod that was just made."""
        return self._facts[record.uid]

    def facts(self, uid: str) -> PodFacts | None:
        """Return what is known of a pod, with its record as it is."""
        known = self._facts.get(uid)
        pod = self._cluster_state.pods.get(uid)
        if known is None or pod is None:
            return None
        if known.record is not pod.record:
            known = self._facts[uid] = replace(known, record=pod.record)
        return known

    def left(self, pod: PodState) -> None:
        """A pod is gone."""
        self._facts.pop(pod.uid, None)
        self._unplaced.pop(pod.uid, None)

    def gpus(self, uid: str) -> float:
        """Return the devices that a pod asks for; none where it is not known."""
        known = self._facts.get(uid)
        return 0.0 if known is None else known.gpus

    def finished(self, running: Running) -> None:
        """A workload is over."""
        for key in [key for key in self._shapes if key[0] == running.number]:
            del self._shapes[key]

    def waiting(self, is_mine: Callable[[Pod], bool] = lambda pod: True) -> list[PodFacts]:
        """Return the pods that wait for a place, in the order in which they came."""
        found: list[PodFacts] = []
        if not self._cluster_state.n_pending:
            return found
        for uid in list(self._unplaced):
            pod = self._cluster_state.pods.get(uid)
            if pod is None or pod.is_bound:
                # A pod that has a place keeps it until it is gone.
                del self._unplaced[uid]
            elif pod.waits and not pod.leaving and is_mine(pod.record):
                facts = self.facts(uid)
                assert facts is not None
                found.append(facts)
        return found


class PlainEngine:
    """An engine that does nothing by itself: pods are admitted and known, and nobody gives them a place.

    The provider's autoscaler answers ProvisioningRequests whichever engine there is.
    """

    name = ""

    def __init__(self, cluster_state: ClusterState) -> None:
        self.cluster_state = cluster_state
        self.pods = Pods(cluster_state)
        self.admission = Admission(cluster_state)

    @property
    def parents(self) -> Mapping[str, str | None]:
        """Its queues, and of each the one above."""
        return {}

    def begin(self, workloads: Workloads, pools: NodePools) -> None:
        """Take in what it acts upon."""
        self.workloads = workloads
        self.pools = pools
        self.autoscaler = self.make_autoscaler()

    def make_autoscaler(self) -> Autoscaler:
        """Return what answers ProvisioningRequests."""
        return Autoscaler(self.cluster_state, self.workloads, self.pools.pools)

    def handlers(self) -> Handlers:
        """Return what is done at each event of the autoscaler."""
        return self.autoscaler.handlers()

    def run_cycle(self) -> None:
        """Decide nothing."""

    def admit(self, made: Manifest) -> Manifest:
        """Return an object as the API server keeps it; a pod that names a ProvisioningRequest is bound to its nodes."""
        return self.admission.admit(consuming(made, self.cluster_state.store))

    def made(self, running: Running) -> None:
        """Note the queue of a workload."""

    def changed(self, running: Running) -> None:
        """Pods follow by themselves."""

    def finished(self, running: Running) -> None:
        """Forget what was known of it."""
        self.pods.finished(running)
        self.admission.finished(running)

    def take_in(self, running: Running, made: Manifest) -> Pod:
        """Read a pod that was just made, and have it belong to its gang."""
        return self.pods.take_in(running, made)

    def starts_together(self, running: Running) -> bool:
        """Tell that kube-scheduler places pods one by one: half of a gang may hold its nodes."""
        return False

    def regroup(self, running: Running, made: Manifest) -> None:
        """Have the group of a pod need what the workload needs by now."""
        self.pods.gangs.regroup(running, made)

    def left(self, pod: PodState) -> None:
        """A pod is gone."""
        self.pods.left(pod)
        self.admission.left(pod)
        self.autoscaler.left(pod)

    def grow(self, unplaced: Iterable[PodFacts]) -> None:
        """Ask the node pools for nodes for pods that found no place."""
        if self.pools.can_grow:
            self.pools.grow([pod.record for pod in unplaced])
            self.pools.settle()

    def explain(self, pod: PodFacts, why: str) -> None:
        """Note why a workload waits, by the first of its pods."""
        state = self.cluster_state.pods[pod.uid]
        self.cluster_state.note_wait(state.workload, why, pod=state.name)
