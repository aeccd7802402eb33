"""Plain Kubernetes: admission, controllers, kube-scheduler, and the autoscaler. Its queues are namespaces."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from apportion_runtime.admission.objects import name_of
from apportion_runtime.engines.base.engine import PlainEngine, Pods
from apportion_runtime.engines.base.gangs import Gangs, independent_jobs
from apportion_runtime.engines.kube_scheduler import KubeScheduler
from apportion_runtime.engines.kube_scheduler.class_cycle import ClassCycles
from apportion_runtime.engines.kube_scheduler.pending_pods import PendingPods
from apportion_runtime.engines.kube_scheduler.profiles import KIND, known_profiles
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.controllers.running_workload import Running
from apportion_runtime.sim.controllers.workloads import Workloads
from apportion_runtime.sim.engine import reading
from apportion_runtime.sim.history import Sample
from apportion_runtime.sim.provisioning.node_pools import NodePools
from apportion_runtime.snapshots.pod_requests import GPUS
from apportion_runtime.snapshots.quantities import NANO

_OF_GPUS = frozenset(f"requests.{name}" for name in GPUS)
_UNBOUND = -1.0


class Native(PlainEngine):
    """The engine of a plain Kubernetes cluster."""

    name = "native"

    def __init__(self, cluster_state: ClusterState) -> None:
        super().__init__(cluster_state)
        self.pods = Pods(cluster_state, Gangs(cluster_state, least=independent_jobs))
        with reading(KIND):
            self.profiles = known_profiles(cluster_state.store.list(KIND))
        self._changed_pods = cluster_state.watch_pods()
        # The devices of placed and pending pods by namespace, and where those of each pod are counted.
        self._held: dict[str, float] = {}
        self._asked: dict[str, float] = {}
        self._counted: dict[str, tuple[str, dict[str, float], float]] = {}
        self._n_sampled = 0

    @property
    def parents(self) -> Mapping[str, str | None]:
        """The namespaces, which have the quotas."""
        return {name_of(made): None for made in self.cluster_state.store.list("Namespace")}

    def begin(self, workloads: Workloads, pools: NodePools) -> None:
        """Start the engine on the workloads of the simulation."""
        super().begin(workloads, pools)
        self._scheduler = KubeScheduler(self.cluster_state, workloads, self.pods.facts, self.profiles)
        self._pending = PendingPods(self.cluster_state, self.pods.facts, self._scheduler.is_mine)
        self._cycles = ClassCycles(self.cluster_state, self._scheduler, self._pending, self.explain_all)

    def made(self, running: Running) -> None:
        """Record the namespace, which need not be declared."""
        history = self.cluster_state.history
        facts = history.workloads[running.number]
        facts.queue = facts.namespace
        history.parents.setdefault(facts.namespace, None)

    def run_cycle(self) -> None:
        """Schedule pods."""
        self.cluster_state.history.n_cycles += 1
        arrived = self._pending.update()
        self._scheduler.begin_cycle([self._pending.facts(pod) for pod in arrived])
        if self.pools.can_grow or self._pending.n_foreign or not self._cycles.is_exact:
            self._cycles.forget_reasons()
            self._try_all()
        else:
            self._cycles.run(arrived)
        self._sample()

    def _try_all(self) -> None:
        """Try all pending pods one by one."""
        waiting = self.pods.waiting()
        mine = [pod for pod in waiting if self._scheduler.is_mine(pod.record)]
        unplaced = self._scheduler.run_cycle(mine)
        self.explain_all(unplaced)
        if len(mine) < len(waiting):
            for pod in waiting:
                if not self._scheduler.is_mine(pod.record):
                    self.explain(pod, f"scheduler {pod.record.scheduler} does not exist")
        self.grow(each.pod for each in unplaced)

    def _sample(self) -> None:
        """Record the devices of each namespace whose pods changed; the fair share is the request within its quota."""
        changed: dict[str, None] = {}
        for uid in self._changed_pods:
            self._count(uid, changed)
        self._changed_pods.clear()
        parents = self.cluster_state.history.parents
        changed.update(dict.fromkeys(islice(parents, self._n_sampled, None)))
        self._n_sampled = len(parents)
        for name in changed:
            has, wants = self._held.get(name, 0.0), self._asked.get(name, 0.0)
            hard = [
                quota.hard[each] / NANO
                for quota in self.admission.quotas.of(name)
                for each in _OF_GPUS & quota.hard.keys()
            ]
            bound = min(hard, default=_UNBOUND)
            fair = min(has + wants, bound) if hard else has + wants
            self.cluster_state.history.sample(name, Sample(self.cluster_state.elapsed_s, has, fair, bound, has + wants))

    def _count(self, uid: str, changed: dict[str, None]) -> None:
        """Count the devices of a pod in its namespace, instead of those that were counted before."""
        before = self._counted.pop(uid, None)
        if before is not None:
            namespace, counts, gpus = before
            counts[namespace] -= gpus
            changed[namespace] = None
        pod = self.cluster_state.pods.get(uid)
        if pod is not None and not pod.leaving:
            counts, gpus = self._held if pod.is_bound else self._asked, self.pods.gpus(uid)
            counts[pod.namespace] = counts.get(pod.namespace, 0.0) + gpus
            self._counted[uid] = pod.namespace, counts, gpus
            changed[pod.namespace] = None
