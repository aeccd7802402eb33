"""The Koordinator engine: koord-scheduler with its quotas and gangs, and the controller that revokes pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion_api.koordinator.names import DEFAULT_QUOTA, SCHEDULER, SCHEDULER_CONFIG, SYSTEM_QUOTA, UNCOUNTED_BANDS
from apportion_runtime.admission.objects import kind_of, labels_of, name_of, nested
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.engines.base.engine import PlainEngine
from apportion_runtime.engines.koordinator.configuration import read_configuration
from apportion_runtime.engines.koordinator.gangs import GangError, Gangs, check_gang
from apportion_runtime.engines.koordinator.quota_accounts import QuotaAccounts
from apportion_runtime.engines.koordinator.quota_specs import TreeProfile, read_quotas
from apportion_runtime.engines.koordinator.revocation import Revocation, victims
from apportion_runtime.engines.koordinator.scheduler import KoordScheduler
from apportion_runtime.engines.kube_scheduler import KubeScheduler, PodFacts, read_profiles
from apportion_runtime.engines.kube_scheduler.profiles import KIND
from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.controllers.running_workload import Running
from apportion_runtime.sim.controllers.workloads import Workloads
from apportion_runtime.sim.engine import Denied, reading
from apportion_runtime.sim.history import Sample
from apportion_runtime.sim.kubelet.eviction import evict
from apportion_runtime.sim.provisioning.node_pools import NodePools
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.pod_requests import GPUS, Amounts, amounts

RETRY_S = 300.0
"""The time after which kube-scheduler retries an unschedulable pod without an event (pkg/scheduler/backend/queue,
DefaultPodMaxInUnschedulablePodsDuration). It matters only for room that a pod gave up after others had failed."""
_HIDDEN = frozenset((DEFAULT_QUOTA, SYSTEM_QUOTA))
_POD = ("", "Pod")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class Koordinator(PlainEngine):
    """The Koordinator engine."""

    name = "koordinator"
    remembers_workloads = True
    """Each attempt of another workload, which may be rejected again, changes nominations of pending gangs."""

    def __init__(self, cluster_state: ClusterState) -> None:
        super().__init__(cluster_state)
        store = cluster_state.store
        with reading(f"ConfigMap {SCHEDULER_CONFIG}"):
            self._configuration = read_configuration(store.list("ConfigMap"))
        self._quotas = read_quotas(
            store.list("ElasticQuota"), store.list("ElasticQuotaProfile"), self._configuration.own_maxima
        )
        self._accounts = QuotaAccounts(self._quotas, self._configuration)
        self._gangs = Gangs()
        self._node_version = -1
        self._sampled: dict[str, tuple[int, Amounts]] = {}
        """The number of changes of each quota's amounts, and its runtime quota, when it was sampled last."""

    @property
    def parents(self) -> Mapping[str, str | None]:
        """The quotas, without those that Koordinator creates itself."""
        return {name: spec.parent for name, spec in self._quotas.specs.items() if name not in _HIDDEN}

    def begin(self, workloads: Workloads, pools: NodePools) -> None:
        """Start the engine on the workloads of the simulation."""
        super().begin(workloads, pools)
        cluster_state, facts = self.cluster_state, self.pods.facts
        self._scheduler = KoordScheduler(
            cluster_state, workloads, facts, self._configuration, accounts=self._accounts, gangs=self._gangs
        )
        profiles, _ = read_profiles(cluster_state.store.list(KIND))
        self._beside = KubeScheduler(cluster_state, workloads, facts, profiles)
        self._revocation = Revocation(
            self._accounts, delay_s=self._configuration.delay_s, start=cluster_state.clock.start
        )
        if self._configuration.uses_runtime and self._configuration.scales_min:
            # The scheduler refreshes all runtime quotas when it starts (controller.go, syncElasticQuotaRuntimeWorker).
            cluster_state.request_cycle(cluster_state.now)

    def admit(self, made: Manifest) -> Manifest:
        """Return an object as it is stored.

        Raises:
            Denied: For a pod that Koordinator's webhook rejects, or with features that are not simulated.
        """
        made = super().admit(made)
        if kind_of(made) != _POD:
            return made
        quota = self._quotas.quota_of(made)
        if self._quotas.specs[quota].is_parent:
            raise Denied(f"pod can not be linked to a parentQuotaGroup,quota:{quota}, pod:{name_of(made)}")
        if nested(made, "spec", "schedulerName") == SCHEDULER:
            try:
                check_gang(made)
            except GangError as wrong:
                raise Denied(f"Pod {name_of(made)}: {wrong}") from None
        priority = int(nested(made, "spec", "priority") or 0)
        for name, (least, most, resources) in UNCOUNTED_BANDS.items():
            if least <= priority <= most:
                raise Denied(
                    f"Pod {name_of(made)}: priority {priority} is in the band {name}, where Koordinator replaces cpu "
                    f"and memory requests with {resources} resources; this replacement is not simulated"
                )
        profile = self._quotas.profile_of(quota)
        return made if profile is None else _on_nodes(made, profile)

    def made(self, running: Running) -> None:
        """Record the quota of a workload that names one, as its pods do."""
        slot = next(iter(running.slots.values()), None)
        if slot is not None:
            metadata = {"namespace": nested(running.manifest, "metadata", "namespace"), "labels": slot.labels}
            quota = self._quotas.quota_of({"metadata": metadata})
            if quota not in _HIDDEN:
                self.cluster_state.history.workloads[running.number].queue = quota

    def add_pod(self, running: Running, made: Manifest) -> Pod:
        """Read a new pod, and count it in its quota and its gang."""
        record = super().add_pod(running, made)
        uid = record.uid
        self._accounts.add(uid, made, self.pods.facts_of(record).request)
        if record.node is not None:
            self._accounts.reserve(uid)
        if record.scheduler == SCHEDULER:
            self._gangs.add(uid, made, is_bound=record.node is not None)
        quota = self._accounts[uid].quota
        if quota not in _HIDDEN:
            self.cluster_state.history.workloads[running.number].queue = quota
        return record

    def left(self, pod: PodState) -> None:
        """Handle the deletion of a pod."""
        self._scheduler.left(pod)
        super().left(pod)

    def run_cycle(self) -> None:
        """Revoke pods of overused quotas, then place pods."""
        cluster_state = self.cluster_state
        if self._node_version != cluster_state.records.node_version:
            self._node_version = cluster_state.records.node_version
            self._accounts.set_capacity(self._capacity())
        self._accounts.begin_cycle()
        if self._configuration.revokes:
            self._revoke()
        elif self._configuration.uses_runtime:
            # The controller refreshes runtime quotas whether or not it revokes pods.
            self._revocation.refresh(cluster_state.now)
        waiting = self.pods.waiting()
        if cluster_state.history.n_cycles or waiting:
            self._schedule(waiting)
        if self._configuration.uses_runtime and not self._revocation.is_settled:
            cluster_state.request_cycle(self._revocation.next_refresh)

    def _schedule(self, waiting: list[PodFacts]) -> None:
        """Attempt every pending pod."""
        cluster_state = self.cluster_state
        cluster_state.history.n_cycles += 1
        unplaced: list[PodFacts] = []
        for each in self._scheduler.run_cycle([pod for pod in waiting if self._scheduler.is_mine(pod.record)]):
            self.explain(each.pod, each.why)
            if not each.is_held:
                unplaced.append(each.pod)
        others = [pod for pod in waiting if not self._scheduler.is_mine(pod.record)]
        unplaced += self._place_beside(others)
        self.grow(unplaced)
        if unplaced and self._scheduler.has_freed_room:
            cluster_state.request_cycle(cluster_state.now + RETRY_S)
        if self._configuration.revokes:
            self._revocation.watch(cluster_state.now)
            at = self._revocation.next_time(cluster_state.now)
            if at < float("inf"):
                cluster_state.request_cycle(at)
        self._sample()

    def _capacity(self) -> list[tuple[Mapping[str, str], Amounts]]:
        nodes = self.cluster_state.store.list("Node")
        return [(labels_of(made), amounts(nested(made, "status", "allocatable"))) for made in nodes]

    def _revoke(self) -> None:
        """Evict pods of the quotas that are due."""
        cluster_state = self.cluster_state
        # Checked every second, a quota is due just before a refresh at the end of its delay.
        for quota in self._revocation.overdue(cluster_state.now):
            for uid in victims(self._accounts, quota, self._scheduler.importance):
                evict(
                    cluster_state, self.workloads.kubelet, cluster_state.pods[uid],
                    action="revoke", rule="QuotaOverUsedRevokeController",
                    message=f"quota {quota} used more than its runtime quota",
                    because=f"quota {quota} used more than its runtime quota for {self._configuration.delay_s:g}s",
                )  # fmt: skip
        self._revocation.refresh(cluster_state.now)
        self._revocation.watch(cluster_state.now)

    def _place_beside(self, others: list[PodFacts]) -> list[PodFacts]:
        """Place the pods of other schedulers by kube-scheduler, which every cluster has; return the unplaced pods."""
        unplaced: list[PodFacts] = []
        for each in self._beside.run_cycle([pod for pod in others if self._beside.is_mine(pod.record)]):
            self.explain(each.pod, each.why)
            unplaced.append(each.pod)
        for pod in others:
            if not self._beside.is_mine(pod.record):
                self.explain(pod, f"scheduler {pod.record.scheduler} does not exist")
            elif self.cluster_state.pods[pod.uid].is_bound:
                self._accounts.reserve(pod.uid)
        return unplaced

    def _sample(self) -> None:
        """Record the GPUs of each quota; the fair share is its runtime quota, up to its requests."""
        at = self.cluster_state.elapsed_s
        for name in self.parents:
            state = self._accounts.state(name)
            known = self._sampled.get(name)
            if known is not None and known[0] == state.n_amounts and known[1] is state.runtime:
                continue
            self._sampled[name] = state.n_amounts, state.runtime
            requested, runtime = _gpus(state.asked), _gpus(state.runtime)
            sample = Sample(at, _gpus(state.used), min(runtime, requested), _gpus(state.spec.minimum), requested)
            self.cluster_state.history.sample(name, sample)


def _gpus(held: Amounts) -> float:
    return float(sum(held.get(name, 0) for name in GPUS))


def _on_nodes(made: Manifest, profile: TreeProfile) -> Manifest:
    """Return a pod that is restricted to the nodes of its quota's tree, as by Koordinator's webhook."""
    wanted = [{"key": key, "operator": "In", "values": [value]} for key, value in sorted(profile.selector.items())]
    affinity: dict[str, Any] = dict(nested(made, "spec", "affinity") or {})
    nodes: dict[str, Any] = dict(affinity.get("nodeAffinity") or {})
    required: dict[str, Any] = dict(nodes.get(_REQUIRED) or {})
    before: list[dict[str, Any]] = list(required.get("nodeSelectorTerms") or ()) or [{}]
    terms = [{**term, "matchExpressions": [*(term.get("matchExpressions") or ()), *wanted]} for term in before]
    affinity["nodeAffinity"] = {**nodes, _REQUIRED: {**required, "nodeSelectorTerms": terms}}
    return {**made, "spec": {**made["spec"], "affinity": affinity}}
