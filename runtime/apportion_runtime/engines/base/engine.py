"""The base of every engine except KAI: admission of pods, and kube-scheduler's facts about them.

An engine extends `PlainEngine` and overrides what differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from apportion_runtime.admission.expansion import Slot, is_observed
from apportion_runtime.admission.objects import kind_of, labels_of, namespace_of
from apportion_runtime.core.pod_constraints import Expression
from apportion_runtime.core.snapshot import Pod
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
    """The pods of a cluster, as kube-scheduler sees them."""

    def __init__(self, cluster_state: ClusterState, gangs: Gangs | None = None) -> None:
        self._cluster_state = cluster_state
        self._facts: dict[str, PodFacts] = {}
        self._shapes: dict[int, dict[str, tuple[Manifest, PodFacts]]] = {}
        self._unplaced: dict[str, None] = {}
        self.gangs = gangs or Gangs(cluster_state)

    def add_pod(self, running: Running, made: Manifest) -> Pod:
        """Read a new pod, and assign it to its gang."""
        record = self.gangs.add_pod(running, made)
        spec = made["spec"]
        shapes = self._shapes.setdefault(running.number, {})
        known = shapes.get(record.sub_group)
        if known is not None and known[0] == spec:
            facts = known[1].with_record(record)
        else:
            facts = pod_facts(
                made,
                record,
                priority=int(spec.get("priority") or 0),
                may_preempt=spec.get("preemptionPolicy") != "Never",
                owner=self._owner(made),
            )
            shapes[record.sub_group] = (spec, facts)
        self._facts[record.uid] = facts
        self._unplaced[record.uid] = None
        return record

    def _owner(self, made: Manifest) -> tuple[Expression, ...] | None:
        """Return the selectors of a pod's Services, ReplicaSet and StatefulSet, used by the default spread; None if empty."""
        store, namespace, labels = self._cluster_state.store, made["metadata"]["namespace"], labels_of(made)
        found: dict[Expression, None] = {}
        for service in store.list("Service"):
            selector = service["spec"].get("selector") or {}
            if namespace_of(service) == namespace and selector.items() <= labels.items():
                found.update(dict.fromkeys(Expression(key, "In", (value,)) for key, value in selector.items()))
        for reference in made["metadata"].get("ownerReferences") or ():
            owner = store.get(reference["kind"], namespace, reference["name"])
            if owner is not None and kind_of(owner) in _SPREAD_BY_DEFAULT:
                of_owner = label_selector(owner["spec"].get("selector") or {"matchLabels": dict(labels)})
                found.update(dict.fromkeys(of_owner or ()))
        return tuple(found) or None

    def facts_of(self, record: Pod) -> PodFacts:
        """Return the facts of a new pod."""
        return self._facts[record.uid]

    def facts(self, uid: str) -> PodFacts | None:
        """Return the facts of a pod, with its current record."""
        known = self._facts.get(uid)
        pod = self._cluster_state.pods.get(uid)
        if known is None or pod is None:
            return None
        if known.record is not pod.record:
            known = self._facts[uid] = known.with_record(pod.record)
        return known

    def left(self, pod: PodState) -> None:
        """Forget a deleted pod."""
        self._facts.pop(pod.uid, None)
        self._unplaced.pop(pod.uid, None)

    def gpus(self, uid: str) -> float:
        """Return the devices requested by a pod; 0 if it is unknown."""
        known = self._facts.get(uid)
        return 0.0 if known is None else known.gpus

    def finished(self, running: Running) -> None:
        """Forget a finished workload."""
        self._shapes.pop(running.number, None)

    def waiting(self, is_mine: Callable[[Pod], bool] | None = None) -> list[PodFacts]:
        """Return the pending pods, in order of creation."""
        found: list[PodFacts] = []
        if not self._cluster_state.n_pending:
            return found
        pods, known = self._cluster_state.pods, self._facts
        for uid in list(self._unplaced):
            pod = pods.get(uid)
            if pod is None or pod.is_bound:
                # A bound pod occupies its node until it is gone.
                del self._unplaced[uid]
            elif not pod.leaving and pod.waits and (is_mine is None or is_mine(pod.record)):
                facts = known[uid]
                if facts.record is not pod.record:
                    facts = known[uid] = facts.with_record(pod.record)
                found.append(facts)
        return found


class PlainEngine:
    """An engine without a scheduler: pods are admitted and recorded, but not placed.

    The provider's autoscaler handles ProvisioningRequests under every engine.
    """

    name = ""
    remembers_workloads = False

    def __init__(self, cluster_state: ClusterState) -> None:
        self.cluster_state = cluster_state
        self.pods = Pods(cluster_state)
        self.admission = Admission(cluster_state)

    @property
    def parents(self) -> Mapping[str, str | None]:
        """The parent of each queue."""
        return {}

    def begin(self, workloads: Workloads, pools: NodePools) -> None:
        """Start the engine on the workloads of the simulation."""
        self.workloads = workloads
        self.pools = pools
        self.autoscaler = self.make_autoscaler()

    def make_autoscaler(self) -> Autoscaler:
        """Return the autoscaler that handles ProvisioningRequests."""
        return Autoscaler(self.cluster_state, self.workloads, self.pools.pools)

    def handlers(self) -> Handlers:
        """Return the handlers of autoscaler events."""
        return self.autoscaler.handlers()

    def run_cycle(self) -> None:
        """Make no decisions."""

    def admit(self, made: Manifest) -> Manifest:
        """Return an object as it is stored; a pod that consumes a ProvisioningRequest is restricted to its nodes."""
        return self.admission.admit(consuming(made, self.cluster_state.store))

    def made(self, running: Running) -> None:
        """Record the queue of a workload."""

    def changed(self, running: Running) -> None:
        """Do nothing: pods are handled individually."""

    def finished(self, running: Running) -> None:
        """Remove the state of a workload."""
        self.pods.finished(running)
        self.admission.finished(running)

    def add_pod(self, running: Running, made: Manifest) -> Pod:
        """Read a new pod, and assign it to its gang."""
        if is_observed(running.manifest):
            self.admission.observe(made)
        return self.pods.add_pod(running, made)

    def create_like(self, running: Running, slot: Slot, name: str) -> tuple[Manifest, Pod] | None:
        """Return None: each pod is admitted by itself."""
        return None

    def starts_together(self, running: Running) -> bool:
        """Return False: kube-scheduler places pods one by one, so a partial gang may occupy nodes."""
        return False

    def regroup(self, running: Running, made: Manifest) -> None:
        """Update the minimum of a pod's group to that of its workload."""
        self.pods.gangs.regroup(running, made)

    def left(self, pod: PodState) -> None:
        """Handle the deletion of a pod."""
        self.pods.left(pod)
        self.admission.left(pod)
        self.autoscaler.left(pod)

    def grow(self, unplaced: Iterable[PodFacts]) -> None:
        """Request nodes for unplaced pods from the node pools."""
        if self.pools.can_grow:
            self.pools.grow([pod.record for pod in unplaced])
            self.pools.settle()

    def explain_all(self, pods: Iterable[tuple[PodFacts, str, object]]) -> None:
        """Record why workloads wait, from the first of their pods."""
        states, last = self.cluster_state.pods, (-1, "")
        for pod, why, _ in pods:
            state = states[pod.record.uid]
            if last[0] != state.workload or last[1] != why:
                last = state.workload, why
                self.cluster_state.note_wait(state.workload, why, pod=state.name)

    def explain(self, pod: PodFacts, why: str) -> None:
        """Record why a workload waits, from the first of its pods."""
        state = self.cluster_state.pods[pod.uid]
        self.cluster_state.note_wait(state.workload, why, pod=state.name)
