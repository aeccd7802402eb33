"""The YuniKorn engine: its core, its shim, and kube-scheduler for the pods of other schedulers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from apportion_api.counted_nouns import agreeing
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.yunikorn.names import SCHEDULER
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.engines.base.engine import PlainEngine
from apportion_runtime.engines.kube_scheduler import KubeScheduler, read_profiles
from apportion_runtime.engines.kube_scheduler.nodes import Nodes as KubeNodes
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.engines.kube_scheduler.profiles import KIND
from apportion_runtime.engines.yunikorn.allocations import Allocation
from apportion_runtime.engines.yunikorn.amounts import Amounts, fits_limits, plus
from apportion_runtime.engines.yunikorn.applications import Phase
from apportion_runtime.engines.yunikorn.configuration import read_configuration
from apportion_runtime.engines.yunikorn.nodes import Node, Nodes
from apportion_runtime.engines.yunikorn.partition import Partition
from apportion_runtime.engines.yunikorn.pods import counted, pod_amounts
from apportion_runtime.engines.yunikorn.predicates import Filtered
from apportion_runtime.engines.yunikorn.preemption import preempts_at
from apportion_runtime.engines.yunikorn.scheduling_step import RESERVATION_DELAY_S, Outcome, run_step
from apportion_runtime.engines.yunikorn.shim import Shim
from apportion_runtime.engines.yunikorn.user_limits import UserLimits
from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.controllers.running_workload import Running
from apportion_runtime.sim.controllers.workloads import Workloads
from apportion_runtime.sim.history import Sample
from apportion_runtime.sim.kubelet.eviction import evict
from apportion_runtime.sim.provisioning.node_pools import NodePools
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.pod_requests import amounts

_PREEMPT = "preempt"
_AFTER_S = 0.001
"""A reservation requires more than its delay."""


class YuniKorn(PlainEngine):
    """The YuniKorn engine."""

    name = "yunikorn"
    remembers_workloads = True
    """An application without pods is kept for a while, and its next pods are not a gang."""

    def __init__(self, cluster_state: ClusterState) -> None:
        super().__init__(cluster_state)
        self._configuration = read_configuration(cluster_state.store.list("ConfigMap"))
        configuration = self._configuration
        self._kube_nodes = KubeNodes(cluster_state, self.pods.facts)
        facts: dict[str, PodFacts] = {}
        self._predicates = Filtered(self._kube_nodes, facts)
        self._partition = Partition(
            configuration.root,
            Nodes(configuration.node_sort_policy, configuration.node_weights),
            UserLimits(configuration.limits),
            self._predicates,
            preempts=configuration.preempts,
        )
        self._shim = Shim(cluster_state, self._partition, configuration.rules, facts)
        self._bound: list[tuple[PodFacts, Manifest, str]] = []
        """Pods that were bound before the simulation and are not yet counted."""
        self._changed = True
        self._samples: dict[str, Sample] = {}

    @property
    def parents(self) -> Mapping[str, str | None]:
        """The parent of each queue, by path."""
        return {
            path: None if queue.parent is None else queue.parent.path for path, queue in self._partition.queues.items()
        }

    def begin(self, workloads: Workloads, pools: NodePools) -> None:
        """Start the engine on the workloads of the simulation."""
        super().begin(workloads, pools)
        profiles, _ = read_profiles(self.cluster_state.store.list(KIND))
        self._beside = KubeScheduler(self.cluster_state, workloads, self.pods.facts, profiles)

    def add_pod(self, running: Running, made: Manifest) -> Pod:
        """Read a new pod."""
        record = super().add_pod(running, made)
        if record.scheduler == SCHEDULER:
            self.cluster_state.history.workloads[running.number].queue = self._shim.queue_of(made)
            if record.node is not None:
                self._bound.append((self.pods.facts_of(record), made, record.node))
        return record

    def left(self, pod: PodState) -> None:
        """Release the resources of a deleted pod."""
        super().left(pod)
        self._changed = True
        request = self._shim.left(pod.uid)
        if request is not None:
            self._partition.release(request, self.cluster_state.now)

    def run_cycle(self) -> None:
        """Run steps of the scheduler until nothing changes, and carry out their decisions."""
        cluster_state, now = self.cluster_state, self.cluster_state.now
        cluster_state.history.n_cycles += 1
        self._kube_nodes.refresh()
        self._predicates.reset()
        self._update_nodes()
        for pod, made, node in self._bound:
            if pod.uid in cluster_state.pods:
                self._shim.recover(pod, made, node)
        self._bound.clear()
        self._partition.advance(now)
        waiting = self.pods.waiting(lambda pod: pod.scheduler == SCHEDULER)
        for pod in waiting:
            if self._shim.submission_of(pod.uid) is None:
                self._changed = True
                self._shim.submit(pod, self._made(pod.uid))
        self._settle(now)
        unplaced = self._explain(waiting)
        self._sample()
        self.grow([*unplaced, *self._place_beside()])
        self._plan(now)
        self._changed = False

    def _made(self, uid: str) -> Manifest:
        pod = self.cluster_state.pods[uid]
        made = self.cluster_state.store.get("Pod", pod.namespace, pod.name)
        assert made is not None
        return made

    def _update_nodes(self) -> None:
        """Follow the nodes of the cluster, and the pods of other schedulers on them."""
        partition, records = self._partition, self.cluster_state.records.nodes
        for name in [node.name for node in partition.nodes if node.name not in records]:
            partition.remove_node(name, self.cluster_state.now)
            self._changed = True
        for name, record in records.items():
            made = self.cluster_state.store.get("Node", "", name)
            assert made is not None
            capacity = counted(amounts((made.get("status") or {}).get("allocatable")))
            node = partition.nodes.get(name)
            if node is None:
                node = Node(name, capacity)
                partition.add_node(node)
                self._changed = True
            elif node.capacity != capacity:
                partition.resize_node(node, capacity)
                self._changed = True
            node.is_schedulable = not record.unschedulable
            occupied = self._occupied(name)
            if occupied != node.occupied:
                node.occupy(occupied)
                self._changed = True

    def _occupied(self, node: str) -> Amounts:
        """Return what pods of other schedulers use on a node."""
        occupied: Amounts = {}
        for uid in self.cluster_state.pods_on.get(node, {}):
            pod = self.cluster_state.pods.get(uid)
            if pod is not None and pod.record.scheduler != SCHEDULER:
                occupied = plus(occupied, pod_amounts(self._made(uid)["spec"]))
        return occupied

    def _settle(self, now: float) -> None:
        while True:
            step = run_step(self._partition, now)
            has_more = step is not None
            if step is not None:
                self._changed = True
                if step.outcome is Outcome.REPLACED:
                    placeholder = step.request.counterpart
                    assert placeholder is not None
                    self._partition.confirm_replacement(placeholder, now)
                if step.outcome in (Outcome.ALLOCATED, Outcome.REPLACED) and not step.request.is_placeholder:
                    self._bind(step.request, step.node)
            has_more = self._evict(now) or has_more
            has_more = self._expire(now) or has_more
            if not (self._shim.open_gangs() or has_more):
                return

    def _bind(self, request: Allocation, node: Node) -> None:
        kubelet = self.workloads.kubelet
        cpu = float(request.amounts.get("vcore", 0))
        if kubelet.bind(request.key, node.name, cpu=cpu, gpus=self.pods.gpus(request.key)):
            self.workloads.placed(request.key)
            self._kube_nodes.refresh()
            self._predicates.reset()
            return
        self._shim.left(request.key)
        self._partition.release(request, self.cluster_state.now)

    def _evict(self, now: float) -> bool:
        """Evict the victims of preemptions; return whether any placeholder left at once."""
        found = False
        evictions, self._partition.evictions = self._partition.evictions, []
        for each in evictions:
            victim, by = each.victim, each.request
            pod = self.cluster_state.pods.get(victim.key)
            if pod is None:
                self._partition.release(victim, now)
                found = True
                continue
            rule, ask, because = _reason(victim, by)
            evict(
                self.cluster_state, self.workloads.kubelet, pod,
                action=_PREEMPT, rule=rule, by=self.cluster_state.pods.get(by.key),
                message=f"preempting allocations to free up resources to run {ask}: {by.key}", because=because,
            )  # fmt: skip
        return found

    def _expire(self, now: float) -> bool:
        """Remove placeholders that timed out; return whether there were any."""
        expired, self._partition.expired = self._partition.expired, []
        for placeholder in expired:
            self._partition.release(placeholder, now, timed_out=True)
        return bool(expired)

    def _explain(self, waiting: list[PodFacts]) -> list[PodFacts]:
        """Record why pods wait, and return those that lack nodes."""
        unplaced: list[PodFacts] = []
        # Without capacity, no request is tried (ClusterContext.schedule).
        untried = "the partition has no nodes" if self._partition.root.maximum is None else ""
        for pod in waiting:
            state = self.cluster_state.pods.get(pod.uid)
            submission = self._shim.submission_of(pod.uid)
            if state is None or state.is_bound or submission is None:
                continue
            core, request = submission.core, self._shim.requests.get(pod.uid)
            if core is None or core.phase is Phase.FAILED:
                self.explain(
                    pod, submission.why if core is None else f"application {core.name} failed: its gang timed out"
                )
                continue
            if request is None:
                blocked = [each for each in submission.placeholders.values() if not each.is_allocated]
                why = blocked[0].why if blocked else ""
                self.explain(
                    pod,
                    f"the gang is waiting for {len(blocked)} {agreeing(len(blocked), 'placeholder')}: {why or untried or 'not allocated'}",
                )
                request = blocked[0] if blocked else None
            else:
                self.explain(pod, request.why or untried or "waiting to be scheduled")
            # A new node does not help a pod that requires another.
            if request is not None and not request.required_node and self._lacks_node(request):
                unplaced.append(pod)
        return unplaced

    def _lacks_node(self, request: Allocation) -> bool:
        application = request.application
        of_user = self._partition.limits.headroom(application.user, application.queue)
        return fits_limits(of_user, request.amounts) and fits_limits(self._quota(request), request.amounts)

    def _quota(self, request: Allocation) -> Amounts | None:
        """Return the headroom of a request's queue, without the capacity of the nodes."""
        return request.application.queue.configured_headroom()

    def _place_beside(self) -> list[PodFacts]:
        """Place the pods that do not use YuniKorn by kube-scheduler, which every cluster has."""
        unplaced: list[PodFacts] = []
        others = self.pods.waiting(lambda pod: pod.scheduler != SCHEDULER)
        for each in self._beside.run_cycle([pod for pod in others if self._beside.is_mine(pod.record)]):
            self.explain(each.pod, each.why)
            unplaced.append(each.pod)
        for pod in others:
            if not self._beside.is_mine(pod.record):
                self.explain(pod, f"scheduler {pod.record.scheduler} does not exist")
        return unplaced

    def _plan(self, now: float) -> None:
        """Request a cycle for the next moment at which a decision may differ without a change of the cluster."""
        moments = [moment for moment in self._moments(now) if now < moment < math.inf]
        if moments:
            self.cluster_state.request_cycle(min(moments))

    def _moments(self, now: float) -> Iterator[float]:
        yield self._partition.next_timer()
        for request in self._partition.requests():
            if request.required_node:
                continue
            yield request.created[0] + RESERVATION_DELAY_S + _AFTER_S
            if self._partition.preempts and request.may_preempt and not request.has_preempted:
                at = preempts_at(request, request.application.queue.settings.preemption_delay_s)
                # Without a change, another attempt has the same result.
                if self._changed or request.checked_at < request.created[0]:
                    yield at

    def _sample(self) -> None:
        """Record the GPUs of the queues that changed; the fair share is the guarantee, up to what is requested."""
        at = self.cluster_state.elapsed_s
        for path, queue in self._partition.queues.items():
            held = float(queue.allocated.get(GPU_RESOURCE, 0))
            asked = held + float(queue.pending.get(GPU_RESOURCE, 0))
            guaranteed = float((queue.guaranteed or {}).get(GPU_RESOURCE, 0))
            sample = Sample(at, held, min(guaranteed, asked), guaranteed, asked)
            if self._samples.get(path, Sample(at, 0.0, 0.0, -1.0, 0.0))[1:] != sample[1:]:
                self._samples[path] = sample
                self.cluster_state.history.sample(path, sample)


def _reason(victim: Allocation, by: Allocation) -> tuple[str, str, str]:
    """Return the rule of an eviction, YuniKorn's name of the request, and the explanation."""
    if by.required_node:
        return "required node", "daemon set ask", f"the pod of a DaemonSet must run on {by.required_node}"
    ours, theirs = by.application.queue.path, victim.application.queue.path
    because = f"queue {theirs} exceeds its guarantee, and queue {ours} is within its guarantee"
    return "guaranteed", "ask", because
