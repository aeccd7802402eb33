"""The YuniKorn engine: its core, its shim, and kube-scheduler for the pods of other schedulers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from apportion_api.counted_nouns import agreeing
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.yunikorn.names import SCHEDULER
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.engines.base.engine import PlainEngine, Pods
from apportion_runtime.engines.base.gangs import Gangs, independent_jobs
from apportion_runtime.engines.kube_scheduler import KubeScheduler, read_profiles
from apportion_runtime.engines.kube_scheduler.nodes import Nodes as KubeNodes
from apportion_runtime.engines.kube_scheduler.pending_pods import PendingPod, PendingPods
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.engines.kube_scheduler.profiles import KIND
from apportion_runtime.engines.yunikorn.allocations import Allocation
from apportion_runtime.engines.yunikorn.amounts import Amounts, fits_limits, plus
from apportion_runtime.engines.yunikorn.applications import Phase
from apportion_runtime.engines.yunikorn.attempts import RESERVATION_DELAY_S
from apportion_runtime.engines.yunikorn.configuration import read_configuration
from apportion_runtime.engines.yunikorn.nodes import Node, Nodes
from apportion_runtime.engines.yunikorn.partition import Partition
from apportion_runtime.engines.yunikorn.pending_requests import preempts_at
from apportion_runtime.engines.yunikorn.pods import counted, pod_amounts
from apportion_runtime.engines.yunikorn.predicates import Filtered
from apportion_runtime.engines.yunikorn.scheduling_step import Outcome, reason, run_step
from apportion_runtime.engines.yunikorn.shim import Shim
from apportion_runtime.engines.yunikorn.user_limits import UserLimits
from apportion_runtime.engines.yunikorn.waiting_reasons import WaitingReasons
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
        self.pods = Pods(cluster_state, Gangs(cluster_state, least=independent_jobs))
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
        self._sampled: dict[str, tuple[Amounts, Amounts]] = {}
        """The allocated and pending amounts of each queue when it was sampled last."""
        self._node_version = -1
        self._occupied_nodes = cluster_state.watch_nodes()
        self._pending = PendingPods(cluster_state, self.pods.facts, lambda record: record.scheduler == SCHEDULER)
        self._reasons = WaitingReasons(
            cluster_state, self._partition, self._pending, self._shim.requests.get, self._explain_pod
        )
        self._unsubmitted: dict[str, None] = {}
        """Pods that could not be bound, and those that were created in the last cycle."""

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
        self._submit()
        self._settle(now)
        unplaced = self._explain()
        self._sample()
        self.grow([*unplaced, *self._place_beside()])
        self._plan(now)
        self._changed = False

    def _submit(self) -> None:
        """Submit the pods that are new, in order of creation."""
        pending = self._pending
        arrived = {pod.uid: pod for pod in pending.update()}
        arrived.update((uid, pending.pods[uid]) for uid in self._unsubmitted if uid in pending.pods)
        self._unsubmitted.clear()
        for pod in sorted(arrived.values(), key=lambda pod: pod.place[1]):
            if self._shim.submission_of(pod.uid) is None:
                self._changed = True
                self._shim.submit(pending.facts(pod), self._made(pod.uid))
                self._reasons.changed[pod.uid] = None

    def _made(self, uid: str) -> Manifest:
        pod = self.cluster_state.pods[uid]
        made = self.cluster_state.store.get("Pod", pod.namespace, pod.name)
        assert made is not None
        return made

    def _update_nodes(self) -> None:
        """Follow the nodes of the cluster, and the pods of other schedulers on them."""
        partition, records = self._partition, self.cluster_state.records.nodes
        if self._node_version == self.cluster_state.records.node_version:
            for name in sorted(self._occupied_nodes):
                node = partition.nodes.get(name)
                if node is not None:
                    self._occupy(node)
            self._occupied_nodes.clear()
            return
        self._node_version = self.cluster_state.records.node_version
        self._occupied_nodes.clear()
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
            node.set_schedulable(not record.unschedulable)
            self._occupy(node)

    def _occupy(self, node: Node) -> None:
        occupied = self._occupied(node.name)
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
        self._unsubmitted[request.key] = None
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

    def _explain(self) -> list[PodFacts]:
        """Record why pods wait, and return those that lack nodes, if nodes can be added."""
        self._unsubmitted.update((pod.uid, None) for pod in self._pending.update())
        root = self._partition.root
        if root.maximum is not None and root.has_pending and not self._partition.tries_all and not self.pools.can_grow:
            self._reasons.run()
            return []
        self._reasons.forget()
        in_order = sorted(self._pending.pods.values(), key=lambda pod: pod.place[1])
        return [facts for facts in map(self._pending.facts, in_order) if self._explained(facts)]

    def _explain_pod(self, pod: PendingPod, why: str | None) -> None:
        if why is None:
            self._explained(self._pending.facts(pod))
        else:
            self.explain(self._pending.facts(pod), why)

    def _explained(self, pod: PodFacts) -> bool:
        """Record why a pod waits; return whether it lacks a node."""
        submission, request = self._shim.submission_of(pod.uid), self._shim.requests.get(pod.uid)
        if submission is None:
            return False
        core = submission.core
        if core is None or core.phase is Phase.FAILED:
            self.explain(pod, submission.why if core is None else f"application {core.name} failed: its gang timed out")
            return False
        root = self._partition.root
        # Without capacity, no request is tried (ClusterContext.schedule).
        untried = "the partition has no nodes" if root.maximum is None else ""
        if request is None:
            blocked = [each for each in submission.placeholders.values() if not each.is_allocated]
            why = blocked[0].why if blocked else ""
            self.explain(
                pod,
                f"the gang is waiting for {len(blocked)} {agreeing(len(blocked), 'placeholder')}: {why or untried or 'not allocated'}",
            )
            request = blocked[0] if blocked else None
        else:
            if not untried and root.has_pending and not self._partition.tries_all:
                request.why = reason(self._partition, request)
            self.explain(pod, request.why or untried or "waiting to be scheduled")
        # A new node does not help a pod that requires another.
        return request is not None and not request.required_node and self._lacks_node(request)

    def _lacks_node(self, request: Allocation) -> bool:
        application = request.application
        of_user = self._partition.limits.headroom(application.user, application.queue)
        return fits_limits(of_user, request.amounts) and fits_limits(self._quota(request), request.amounts)

    def _quota(self, request: Allocation) -> Amounts | None:
        """Return the headroom of a request's queue, without the capacity of the nodes."""
        return request.application.queue.configured_headroom()

    def _place_beside(self) -> list[PodFacts]:
        """Place the pods that do not use YuniKorn by kube-scheduler, which every cluster has."""
        if not self._pending.n_foreign and not self._beside.nominated:
            return []
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
        requests = self._partition.pending_requests
        created = requests.first_created(lambda at: _reserves_at(at) > now)
        if created is not None:
            yield _reserves_at(created)
        if self._partition.preempts:
            # Without a change, another attempt has the same result.
            at = requests.due() if self._changed else requests.unchecked()
            if at is not None and at > now:
                yield at
            elif at is not None:
                yield from self._later_attempts()

    def _later_attempts(self) -> Iterator[float]:
        """Yield when each request preempts, if some could already have."""
        for request in self._partition.requests():
            if request.required_node:
                continue
            if request.may_preempt and not request.has_preempted and (self._changed or not request.is_checked):
                yield preempts_at(request, request.application.queue.settings.preemption_delay_s)

    def _sample(self) -> None:
        """Record the GPUs of the queues that changed; the fair share is the guarantee, up to what is requested."""
        at = self.cluster_state.elapsed_s
        for path, queue in self._partition.queues.items():
            allocated, pending = self._sampled.get(path, (None, None))
            if allocated is queue.allocated and pending is queue.pending:
                continue
            self._sampled[path] = queue.allocated, queue.pending
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


def _reserves_at(created: float) -> float:
    """Return when a request that was created at a time may reserve a node."""
    return created + RESERVATION_DELAY_S + _AFTER_S
