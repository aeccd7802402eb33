"""kube-scheduler's cycle: pending pods one by one, by priority, then age.

Among nodes with equal scores, kube-scheduler chooses at random; here it is the first by name. An unschedulable pod is
retried in the next cycle after any change, without backoff.

Source: pkg/scheduler/schedule_one.go, pkg/scheduler/framework/plugins/queuesort at v1.36.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from apportion_runtime.core.snapshot import Pod
from apportion_runtime.engines.kube_scheduler.disruption_budgets import KIND as BUDGET
from apportion_runtime.engines.kube_scheduler.disruption_budgets import disruption_budgets
from apportion_runtime.engines.kube_scheduler.equivalence import EquivalenceClass, alike_on_nodes
from apportion_runtime.engines.kube_scheduler.filter_status import FilterStatus
from apportion_runtime.engines.kube_scheduler.filters import NOT_NAMED, Filters
from apportion_runtime.engines.kube_scheduler.node_ranking import NodeRanking, NodeRankings, RankedNodes
from apportion_runtime.engines.kube_scheduler.node_search import feasible_nodes_to_find, named_nodes
from apportion_runtime.engines.kube_scheduler.node_statuses import NO_NODES, NodeStatuses, no_victims, node_statuses
from apportion_runtime.engines.kube_scheduler.nodes import Nodes, NodeState
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.engines.kube_scheduler.preemption import KnownCandidates, best_candidate, by_node
from apportion_runtime.engines.kube_scheduler.profiles import DEFAULT, Profile
from apportion_runtime.engines.kube_scheduler.scores import scores
from apportion_runtime.engines.kube_scheduler.topology_spread import spread_constraints
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.controllers.workloads import Workloads
from apportion_runtime.sim.history import ENDED_BY_EVICTION
from apportion_runtime.sim.kubelet.eviction import evict
from apportion_runtime.snapshots.pod_requests import CPU
from apportion_runtime.snapshots.quantities import parse_time

_MOST_STARTS = 50_000
"""The number of pods whose start time is cached."""


class Unplaced(NamedTuple):
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
        self._starts: dict[str, float] = {}
        """The start time of running pods."""
        self._candidates = KnownCandidates()
        self._unschedulable: dict[EquivalenceClass, str] = {}
        """The reasons of unplaced pods by shape, valid until resources become free or a nomination ends."""
        self.nodes = Nodes(cluster_state, facts, moves_terminating=True)
        self._rankings = NodeRankings(self.nodes)

    @property
    def nominated(self) -> Mapping[str, str]:
        """The node to which each pod is nominated, by uid."""
        return self._nominated

    def is_mine(self, pod: Pod) -> bool:
        """Return whether a pod uses one of the profiles."""
        return (pod.scheduler or DEFAULT) in self._profiles

    def begin_cycle(self, arrived: Sequence[PodFacts]) -> None:
        """Read the nodes, and the nominations of pods; `arrived` are those whose nomination may not have been read."""
        if self.nodes.refresh():
            self._unschedulable.clear()
        self._update_nominations(arrived)

    def run_cycle(self, waiting: Sequence[PodFacts]) -> list[Unplaced]:
        """Place pods, and return the unplaced ones."""
        self.begin_cycle(waiting)
        has_anti_affinity = self.nodes.has_anti_affinity
        unplaced: list[Unplaced] = []
        unschedulable = self._unschedulable
        # The same by the identity of a class, which pods of one workload share; empty after each attempt.
        known: dict[int, str] = {}
        for pod in sorted(waiting, key=attrgetter("priority"), reverse=True):
            kind = None if has_anti_affinity else alike_on_nodes(pod)
            why = None
            if kind is not None and pod.uid not in self._nominated:
                why = known.get(id(kind))
                if why is None and (why := unschedulable.get(kind)) is not None:
                    known[id(kind)] = why
            if why is not None:
                unplaced.append(Unplaced(pod, why))
                continue
            why = self.attempt(pod, kind)
            known.clear()
            if why is None:
                has_anti_affinity = has_anti_affinity or bool(pod.record.anti_affinity)
            else:
                unplaced.append(Unplaced(pod, why))
        if len(unplaced) < len(waiting) and any(self.may_follow(pod) for pod, _, _ in unplaced):
            self._cluster_state.request_cycle()
        return unplaced

    def attempt(self, pod: PodFacts, kind: EquivalenceClass | None) -> str | None:
        """Place a pod, or preempt for it; return why it is unplaced, which also holds for its class."""
        why = self._place(pod)
        if why is None:
            # Pods of higher priority may take its nominated node in their next cycle.
            for key in [key for key in self._unschedulable if key.priority > pod.priority]:
                del self._unschedulable[key]
        elif pod.uid in self._nominated:
            # Evictions for this pod may also make room for others.
            self._unschedulable.clear()
        elif kind is not None:
            self._unschedulable[kind] = why
        return why

    @property
    def unschedulable(self) -> Mapping[EquivalenceClass, str]:
        """Why the pods of a class fit on no node, until resources become free or another pod is nominated."""
        return self._unschedulable

    def may_follow(self, pod: PodFacts) -> bool:
        """Return whether pods that are placed may let a pod fit."""
        if pod.record.affinity:
            return True
        if not pod.spreads and pod.owner is None:
            return False
        return bool(spread_constraints(pod, self._profiles[pod.record.scheduler or DEFAULT], hard=True))

    def _update_nominations(self, waiting: Sequence[PodFacts]) -> None:
        """Forget the nominations of pods that are gone, and read those that pending pods had initially."""
        for uid in [uid for uid in self._nominated if uid not in self._cluster_state.pods]:
            del self._nominated[uid]
            self._unschedulable.clear()
        for pod in waiting:
            node = pod.record.nominated_node
            if node and pod.uid not in self._observed:
                self._observed.add(pod.uid)
                self._nominated.setdefault(pod.uid, node)

    def _own_node(self, uid: str) -> NodeState | None:
        """Return the node to which the status of a pod nominates it."""
        return self.nodes.get(self._nominated.get(uid, ""))

    def _place(self, pod: PodFacts) -> str | None:
        """Bind a pod, or preempt for it; return why it is unplaced."""
        if not self.nodes.all:
            self._nominated.pop(pod.uid, None)
            return NO_NODES
        profile = self._profiles[pod.record.scheduler or DEFAULT]
        found = self.find_node(pod, profile)
        if isinstance(found, NodeState):
            if self.bind(pod, found):
                return None
            return f"0/{len(self.nodes.all)} nodes are available: the selected node no longer exists."
        afterwards = self._why_not_preempting(pod, profile, found.n_helpful) or self._preempt(
            pod, profile, found.by_name()
        )
        return found.explained(afterwards and f"preemption: {afterwards}")

    def find_node(self, pod: PodFacts, profile: Profile) -> NodeState | NodeStatuses:
        """Return the node with the best score, ties by name; without a feasible node, why they do not fit."""
        nodes, ranking, others = self.nodes, self._rankings.of(pod, profile), self._promised(pod)
        if ranking is None:
            fitting, statuses = self._filtered(pod, profile, others)
            if not fitting:
                return node_statuses(statuses, len(nodes.all))
            found = scores(pod, profile, fitting, nodes) if len(fitting) > 1 else [0]
            return fitting[max(range(len(fitting)), key=lambda i: (found[i], -i))]
        ranked, crowded = self._ranked(pod, profile, ranking, others)
        best = ranking.best(ranked)
        if best is not None:
            return nodes.all[best]
        return ranking.node_statuses(crowded)

    def fitting(self, pod: PodFacts, profile: Profile) -> tuple[list[NodeState], dict[str, FilterStatus]]:
        """Return feasible nodes for a pod, up to the number to search for, and without any, the reasons of all by name."""
        ranking, others = self._rankings.of(pod, profile), self._promised(pod)
        if ranking is None:
            return self._filtered(pod, profile, others)
        ranked, crowded = self._ranked(pod, profile, ranking, others)
        found = [self.nodes.all[row] for row in ranked.rows.tolist()]
        return found, {} if found else {**ranking.by_name(), **crowded}

    def _ranked(
        self, pod: PodFacts, profile: Profile, ranking: NodeRanking, others: Sequence[tuple[NodeState, PodFacts]]
    ) -> tuple[RankedNodes, Mapping[str, FilterStatus]]:
        """Return feasible nodes, and the statuses of nodes that do not fit because of pods that are promised to them."""
        nodes = self.nodes
        crowded: dict[str, FilterStatus] = {}
        if others:
            self._crowded(pod, profile, others, crowded)
            ranking.refresh()
        own = self._own_node(pod.uid)
        if own is not None and own.name not in crowded and ranking.is_feasible(own.row):
            return RankedNodes.only(own.row), crowded
        rows = frozenset(node.row for name in crowded if (node := nodes.get(name)) is not None)
        ranked = ranking.feasible(self._next, feasible_nodes_to_find(len(nodes.all), profile), rows)
        self._next = (self._next + ranked.n_examined) % len(nodes.all) if nodes.all else 0
        return ranked, crowded

    def _filtered(
        self, pod: PodFacts, profile: Profile, others: Sequence[tuple[NodeState, PodFacts]]
    ) -> tuple[list[NodeState], dict[str, FilterStatus]]:
        nodes = self.nodes.all
        filters = Filters(pod, profile, self.nodes)
        statuses: dict[str, FilterStatus] = {}
        crowded: set[str] = set()
        if others:
            crowded = self._crowded(pod, profile, others, statuses)
        own = self._own_node(pod.uid)
        if own is not None and own.name not in crowded and filters.filter_status(own) is None:
            return [own], {}
        names = named_nodes(pod, profile)
        searched = nodes if names is None else [node for node in nodes if node.name in names]
        wanted = feasible_nodes_to_find(len(searched), profile)
        fitting: list[NodeState] = []
        looked = 0
        for i in range(len(searched)):
            node = searched[(self._next + i) % len(searched)]
            filter_status = None if node.name in crowded else filters.filter_status(node)
            if node.name not in crowded and filter_status is None:
                # The search stops at the next node that fits, and does not count it.
                if len(fitting) == wanted:
                    break
                fitting.append(node)
            elif filter_status is not None:
                statuses[node.name] = filter_status
            looked += 1
        self._next = (self._next + looked) % len(nodes) if nodes else 0
        if names is not None and not fitting:
            for node in nodes:
                if node.name not in names:
                    statuses[node.name] = filters.fixed_status(node) or NOT_NAMED
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
        """Return the nodes that no longer fit once their nominated pods are added to each."""
        lasting = Filters(pod, profile, self.nodes)
        skips_company = lasting.skips_company
        found: set[str] = set()
        for name, guests in by_node(others).items():
            node = self.nodes.get(name)
            assert node is not None
            for guest in guests:
                node.add(guest)
            try:
                filters = lasting
                if not lasting.is_lasting:
                    filters = Filters(pod, profile, self.nodes, skips_company=skips_company)
                filter_status = filters.filter_status(node)
            finally:
                for guest in guests:
                    node.remove(guest)
            if filter_status is not None:
                statuses[name] = filter_status
                found.add(name)
        return found

    def bind(self, pod: PodFacts, node: NodeState) -> bool:
        """Bind a pod; return whether the cluster allowed it."""
        nominated = self._nominated.pop(pod.uid, node.name)
        if nominated != node.name:
            self._unschedulable.clear()
            self._cluster_state.request_cycle()
        cpu = float(pod.request.get(CPU, 0))
        if not self._workloads.kubelet.bind(pod.uid, node.name, cpu=cpu, gpus=pod.gpus):
            return False
        node.add(pod)
        self._workloads.placed(pod.uid)
        return True

    def _why_not_preempting(self, pod: PodFacts, profile: Profile, n_helpful: int) -> str:
        """Return why no search for victims is needed; empty if there may be some.

        Args:
            pod: The pod.
            profile: Its profile.
            n_helpful: The number of nodes where an eviction may help.
        """
        n_nodes = len(self.nodes.all)
        if not profile.preempts:
            return f"0/{n_nodes} nodes are available: {n_nodes} Preemption is not helpful for scheduling."
        if not pod.may_preempt:
            return "not eligible due to preemptionPolicy=Never."
        if pod.uid not in self._nominated and not self.nodes.has_priority_below(pod.priority):
            return no_victims(n_nodes, n_helpful)
        return ""

    def _preempt(self, pod: PodFacts, profile: Profile, statuses: Mapping[str, FilterStatus]) -> str:
        """Preempt for a pod; return why not, empty on success."""
        cluster_state = self._cluster_state
        nominated = self.nodes.get(self._nominated.get(pod.uid, ""))
        if nominated is not None:
            filter_status = statuses.get(nominated.name)
            if (filter_status is None or not filter_status.for_good) and any(
                other.priority < pod.priority and cluster_state.pods[other.uid].leaving == ENDED_BY_EVICTION
                for other in nominated.pods.values()
            ):
                return "not eligible due to a terminating pod on the nominated node."
        possible = [self.nodes.get(name) for name, filter_status in statuses.items() if not filter_status.for_good]
        nodes = sorted((node for node in possible if node is not None), key=lambda node: node.name)
        chosen = best_candidate(
            pod,
            profile,
            self.nodes,
            nodes,
            started=self._started,
            has_started=self._starts.__contains__,
            guests=by_node(self._promised(pod)),
            budgets=self._budgets,
            known=self._candidates,
        )
        if chosen is None:
            if self._nominated.pop(pod.uid, None) is not None:
                self._unschedulable.clear()
                cluster_state.request_cycle()
            return no_victims(len(self.nodes.all), len(nodes))
        by = cluster_state.pods[pod.uid]
        for victim in chosen.victims:
            evict(
                cluster_state, self._workloads.kubelet, cluster_state.pods[victim.uid],
                action="preempt", rule="DefaultPreemption", by=by,
                message=f"Preempted by pod {by.uid} on node {chosen.node.name}",
                because=f"lower priority than {by.name} ({victim.priority} < {pod.priority})",
            )  # fmt: skip
        chosen.node.move_to_end(chosen.victims)
        for uid, name in list(self._nominated.items()):
            other = self._facts(uid)
            if name == chosen.node.name and other is not None and other.priority < pod.priority:
                del self._nominated[uid]
        self._nominated[pod.uid] = chosen.node.name
        return ""

    def _started(self, uid: str) -> float:
        known = self._starts.get(uid)
        if known is not None:
            return known
        pod = self._cluster_state.pods[uid]
        made = self._cluster_state.store.get("Pod", pod.namespace, pod.name)
        assert made is not None
        started = (made.get("status") or {}).get("startTime")
        if started is None:
            return math.inf
        found = parse_time(started)
        if pod.runs:
            if len(self._starts) >= _MOST_STARTS:
                self._starts.clear()
            self._starts[uid] = found
        return found
