"""kube-scheduler's cycle: pending pods one by one, by priority, then age.

Among nodes with equal scores, kube-scheduler chooses at random; here it is the first by name. An unschedulable pod is
retried in the next cycle after any change, without backoff.

Source: pkg/scheduler/schedule_one.go, pkg/scheduler/framework/plugins/queuesort at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from apportion_runtime.core.snapshot import NodeTerm, Pod, Toleration
from apportion_runtime.engines.kube_scheduler.disruption_budgets import KIND as BUDGET
from apportion_runtime.engines.kube_scheduler.disruption_budgets import disruption_budgets
from apportion_runtime.engines.kube_scheduler.filter_status import FilterStatus
from apportion_runtime.engines.kube_scheduler.filters import Filters, explained
from apportion_runtime.engines.kube_scheduler.nodes import Nodes, NodeState
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.engines.kube_scheduler.preemption import best_candidate
from apportion_runtime.engines.kube_scheduler.profiles import DEFAULT, Profile
from apportion_runtime.engines.kube_scheduler.scores import scores
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.controllers.workloads import Workloads
from apportion_runtime.sim.kubelet.eviction import evict
from apportion_runtime.snapshots.pod_requests import CPU
from apportion_runtime.snapshots.quantities import parse_time

_LEAST_FEASIBLE, _LEAST_PERCENT = 100, 5


@dataclass(frozen=True, slots=True)
class Unplaced:
    """An unplaced pod, and the reason."""

    pod: PodFacts
    why: str
    is_held: bool = False
    """Whether the reason was not a lack of nodes."""


class KubeScheduler:
    """A scheduler with its profiles.

    Args:
        cluster_state: The simulated cluster.
        workloads: Notified of placed pods.
        facts: Returns the facts of a pod by its uid.
        profiles: By `schedulerName`.
    """

    def __init__(
        self,
        cluster_state: ClusterState,
        workloads: Workloads,
        facts: Callable[[str], PodFacts | None],
        profiles: Mapping[str, Profile],
    ) -> None:
        self._cluster_state = cluster_state
        self._workloads = workloads
        self._facts = facts
        self._profiles = profiles
        self._budgets = disruption_budgets(cluster_state.store.list(BUDGET))
        self._nominated: dict[str, str] = {}
        self._observed: set[str] = set()
        """Pods whose nomination before the simulation was read."""
        self._next = 0
        self._unschedulable: dict[EquivalenceClass, str] = {}
        """The reasons of unplaced pods by shape, valid until resources become free."""
        self.nodes = Nodes(cluster_state, facts)

    def is_mine(self, pod: Pod) -> bool:
        """Return whether a pod uses one of the profiles."""
        return (pod.scheduler or DEFAULT) in self._profiles

    def run_cycle(self, waiting: Sequence[PodFacts]) -> list[Unplaced]:
        """Place pods, and return the unplaced ones."""
        if self.nodes.refresh():
            self._unschedulable.clear()
        has_anti_affinity = self.nodes.has_anti_affinity
        self._update_nominations(waiting)
        unplaced: list[Unplaced] = []
        unschedulable = self._unschedulable
        for pod in sorted(waiting, key=lambda pod: -pod.priority):
            kind = None if has_anti_affinity else alike_on_nodes(pod)
            why = unschedulable.get(kind) if kind is not None and pod.uid not in self._nominated else None
            if why is not None:
                unplaced.append(Unplaced(pod, why))
                continue
            why = self._place(pod)
            if why is None:
                # Pods of higher priority may take its nominated node in their next cycle.
                for key in [key for key in unschedulable if key.priority > pod.priority]:
                    del unschedulable[key]
                has_anti_affinity = has_anti_affinity or bool(pod.record.anti_affinity)
            else:
                unplaced.append(Unplaced(pod, why))
                if kind is not None and pod.uid not in self._nominated:
                    unschedulable[kind] = why
                elif pod.uid in self._nominated:
                    # Evictions for this pod may also make room for others.
                    unschedulable.clear()
        return unplaced

    def _update_nominations(self, waiting: Sequence[PodFacts]) -> None:
        """Forget the nominations of pods that are gone, and read those that pending pods had initially."""
        for uid in [uid for uid in self._nominated if uid not in self._cluster_state.pods]:
            del self._nominated[uid]
        for pod in waiting:
            node = pod.record.nominated_node
            if node and pod.uid not in self._observed:
                self._observed.add(pod.uid)
                self._nominated.setdefault(pod.uid, node)

    def _place(self, pod: PodFacts) -> str | None:
        """Bind a pod, or preempt for it; return why it is unplaced."""
        profile = self._profiles[pod.record.scheduler or DEFAULT]
        fitting, statuses = self.fitting(pod, profile)
        if fitting:
            found = scores(pod, profile, fitting, self.nodes) if len(fitting) > 1 else [0]
            best = max(range(len(fitting)), key=lambda i: (found[i], -i))
            if self.bind(pod, fitting[best]):
                return None
            return f"0/{len(self.nodes.all)} nodes are available: the selected node no longer exists."
        afterwards = self._preempt(pod, profile, statuses)
        return explained(list(statuses.values()), len(self.nodes.all), afterwards and f"preemption: {afterwards}")

    def fitting(self, pod: PodFacts, profile: Profile) -> tuple[list[NodeState], dict[str, FilterStatus]]:
        """Return feasible nodes for a pod, up to the number to search for, and the reasons of the others by name."""
        nodes = self.nodes.all
        others = self._promised(pod)
        filters = Filters(pod, profile, self.nodes)
        statuses: dict[str, FilterStatus] = {}
        crowded: set[str] = set()
        if others:
            crowded = self._crowded(pod, profile, others, statuses)
        own = self.nodes.get(self._nominated.get(pod.uid, ""))
        if own is not None and own.name not in crowded and filters.filter_status(own) is None:
            return [own], {}
        wanted = feasible_nodes_to_find(len(nodes))
        fitting: list[NodeState] = []
        looked = 0
        for i in range(len(nodes)):
            node = nodes[(self._next + i) % len(nodes)]
            looked += 1
            filter_status = None if node.name in crowded else filters.filter_status(node)
            if node.name not in crowded and filter_status is None:
                fitting.append(node)
                if len(fitting) >= wanted:
                    break
            elif filter_status is not None:
                statuses[node.name] = filter_status
        self._next = (self._next + looked) % len(nodes) if nodes else 0
        fitting.sort(key=lambda node: node.name)
        return fitting, statuses

    def _promised(self, pod: PodFacts) -> list[tuple[NodeState, PodFacts]]:
        """Return the nominated pods of at least the same priority, with their nodes."""
        return [
            (node, facts)
            for uid, name in self._nominated.items()
            if uid != pod.uid
            and (node := self.nodes.get(name)) is not None
            and (facts := self._facts(uid)) is not None
            and facts.priority >= pod.priority
        ]

    def _crowded(
        self,
        pod: PodFacts,
        profile: Profile,
        others: Sequence[tuple[NodeState, PodFacts]],
        statuses: dict[str, FilterStatus],
    ) -> set[str]:
        """Return the nodes that no longer fit once their nominated pods are added."""
        for node, other in others:
            node.add(other)
        try:
            filters = Filters(pod, profile, self.nodes)
            found: set[str] = set()
            for node, _ in others:
                filter_status = filters.filter_status(node)
                if filter_status is not None:
                    statuses[node.name] = filter_status
                    found.add(node.name)
            return found
        finally:
            for node, other in others:
                node.remove(other)

    def bind(self, pod: PodFacts, node: NodeState) -> bool:
        """Bind a pod; return whether the cluster allowed it."""
        self._nominated.pop(pod.uid, None)
        cpu = float(pod.request.get(CPU, 0))
        if not self._workloads.kubelet.bind(pod.uid, node.name, cpu=cpu, gpus=pod.gpus):
            return False
        node.add(pod)
        self._workloads.placed(pod.uid)
        return True

    def _preempt(self, pod: PodFacts, profile: Profile, statuses: Mapping[str, FilterStatus]) -> str:
        """Preempt for a pod; return why not, empty on success."""
        cluster_state = self._cluster_state
        n_nodes = len(self.nodes.all)
        nowhere = f"0/{n_nodes} nodes are available: {n_nodes} "
        if not profile.preempts:
            return f"{nowhere}Preemption is not helpful for scheduling."
        if not pod.may_preempt:
            return "not eligible due to preemptionPolicy=Never."
        nominated = self.nodes.get(self._nominated.get(pod.uid, ""))
        if nominated is not None:
            filter_status = statuses.get(nominated.name)
            if (filter_status is None or not filter_status.for_good) and any(
                other.priority < pod.priority and cluster_state.pods[other.uid].leaving
                for other in nominated.pods.values()
            ):
                return "not eligible due to a terminating pod on the nominated node."
        possible = [self.nodes.get(name) for name, filter_status in statuses.items() if not filter_status.for_good]
        nodes = sorted((node for node in possible if node is not None), key=lambda node: node.name)
        reserved = self._promised(pod)
        for node, guest in reserved:
            node.add(guest)
        try:
            chosen = best_candidate(
                pod,
                profile,
                self.nodes,
                nodes,
                started=self._started,
                budgets=self._budgets,
            )
        finally:
            for node, guest in reserved:
                node.remove(guest)
        if chosen is None:
            n_unhelpful = n_nodes - len(nodes)
            messages = [(len(nodes), "No preemption victims found for incoming pod")] if nodes else []
            messages += [(n_unhelpful, "Preemption is not helpful for scheduling")] if n_unhelpful else []
            return f"0/{n_nodes} nodes are available: {', '.join(f'{count} {what}' for count, what in messages)}."
        by = cluster_state.pods[pod.uid]
        for victim in chosen.victims:
            evict(
                cluster_state, self._workloads.kubelet, cluster_state.pods[victim.uid],
                action="preempt", rule="DefaultPreemption", by=by,
                message=f"Preempted by pod {by.uid} on node {chosen.node.name}",
                because=f"lower priority than {by.name} ({victim.priority} < {pod.priority})",
            )  # fmt: skip
        for uid, name in list(self._nominated.items()):
            other = self._facts(uid)
            if name == chosen.node.name and other is not None and other.priority < pod.priority:
                del self._nominated[uid]
        self._nominated[pod.uid] = chosen.node.name
        return ""

    def _started(self, uid: str) -> float:
        pod = self._cluster_state.pods[uid]
        made = self._cluster_state.store.get("Pod", pod.namespace, pod.name)
        assert made is not None
        started = (made.get("status") or {}).get("startTime")
        return self._cluster_state.now if started is None else parse_time(started)


def feasible_nodes_to_find(n_nodes: int) -> int:
    """Return the number of feasible nodes after which the scheduler stops searching."""
    if n_nodes < _LEAST_FEASIBLE:
        return n_nodes
    percent = max(_LEAST_PERCENT, 50 - n_nodes // 125)
    return max(_LEAST_FEASIBLE, n_nodes * percent // 100)


class EquivalenceClass(NamedTuple):
    """The shape shared by pods that are all schedulable or all unschedulable."""

    scheduler: str
    priority: int
    may_preempt: bool
    request: tuple[tuple[str, int], ...]
    selector: tuple[tuple[str, str], ...]
    affinity: tuple[NodeTerm, ...] | None
    tolerations: tuple[Toleration, ...]


def alike(pod: PodFacts) -> object | None:
    """Return the shape shared by pods that are all schedulable or all unschedulable; None if other pods matter."""
    on_nodes, record = alike_on_nodes(pod), pod.record
    return None if on_nodes is None else (on_nodes, record.namespace, tuple(sorted(record.labels.items())))


def alike_on_nodes(pod: PodFacts) -> EquivalenceClass | None:
    """Return the shape shared by pods that fit on the same nodes; None if the pod has affinity terms of its own.

    Anti-affinity of other pods to them is not considered.
    """
    record = pod.record
    if pod.spreads or record.affinity or record.anti_affinity or record.host_ports or pod.owner is not None:
        return None
    return EquivalenceClass(
        record.scheduler,
        pod.priority,
        pod.may_preempt,
        tuple(sorted(pod.request.items())),
        tuple(sorted(record.node_selector.items())),
        record.node_affinity,
        record.tolerations,
    )
