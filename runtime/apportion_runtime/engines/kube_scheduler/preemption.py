"""kube-scheduler's preemption: evicts pods of lower priority on one node for a pod that fits on no node.

Disruption budgets do not protect a pod: other victims are preferred, on the node and among the nodes.

Source: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go and
framework/preemption/preemption.go (pickOneNodeForPreemption) at v1.36.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from apportion_runtime.engines.kube_scheduler.disruption_budgets import DisruptionBudget, violating
from apportion_runtime.engines.kube_scheduler.equivalence import EquivalenceClass, alike_on_nodes
from apportion_runtime.engines.kube_scheduler.filters import Filters
from apportion_runtime.engines.kube_scheduler.nodes import Nodes, NodeState
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.engines.kube_scheduler.profiles import Profile
from apportion_runtime.snapshots.pod_requests import PODS

_OFFSET = 2**31
Started = Callable[[str], float]
"""Returns the start time of a pod by uid, in seconds since 1970; infinite if it has not started."""


_MOST_KINDS = 1_000
"""The number of pod shapes whose candidates are cached."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate node and its victims, the most important first; `n_violating` of them exceed a disruption budget."""

    node: NodeState
    victims: tuple[PodFacts, ...]
    n_violating: int = 0


@dataclass(slots=True)
class KnownCandidates:
    """The victims on nodes for pods of one shape, each valid while the pods of its node are the same.

    Attributes:
        by_kind: For each shape, the state of a node by name, its version, and its candidate, None if there is none.
    """

    by_kind: dict[EquivalenceClass, dict[str, tuple[NodeState, int, Candidate | None]]] = field(default_factory=dict)

    def of(self, kind: EquivalenceClass) -> dict[str, tuple[NodeState, int, Candidate | None]]:
        """Return what is known for a shape; the caller adds to it."""
        if kind not in self.by_kind and len(self.by_kind) >= _MOST_KINDS:
            self.by_kind.clear()
        return self.by_kind.setdefault(kind, {})


def best_candidate(
    pod: PodFacts,
    profile: Profile,
    nodes: Nodes,
    possible: Sequence[NodeState],
    *,
    started: Started,
    has_started: Callable[[str], bool] = lambda uid: False,
    guests: Mapping[str, Sequence[PodFacts]],
    budgets: Sequence[DisruptionBudget] = (),
    known: KnownCandidates | None = None,
) -> Candidate | None:
    """Return the node with the least important victims for a pod; None if preemption does not help.

    Args:
        pod: The pod.
        profile: The profile of the pod.
        nodes: All nodes.
        possible: The nodes where an eviction may help.
        started: Breaks ties of priority: the pod that has run longer is kept.
        has_started: Returns whether the start time of a pod cannot change.
        guests: The pods of at least the same priority that are nominated to each node.
        budgets: Disruption budgets, which victims should not exceed.
        known: The candidates of earlier searches.
    """
    most = min(max(profile.candidates, len(possible) * profile.candidate_percentage // 100), len(possible))
    candidates: list[Candidate] = []
    violating_ones: list[Candidate] = []
    filters = Filters(pod, profile, nodes)
    counts_only = filters.is_lasting and not pod.record.host_ports
    kind = alike_on_nodes(pod) if known is not None and counts_only and not budgets else None
    of_kind = None if known is None or kind is None else known.of(kind)
    for node in possible:
        here = guests.get(node.name, ())
        kept = None if of_kind is None or here else of_kind.get(node.name)
        if kept is not None and kept[0] is node and kept[1] == node.version:
            candidate = kept[2]
        else:
            lower = by_importance((other for other in node.pods.values() if other.priority < pod.priority), started)
            spared = violating(lower, budgets)
            order = [*(o for o in lower if o.uid in spared), *(o for o in lower if o.uid not in spared)]
            room = _Room(pod, profile, nodes, node, here, filters=filters)
            found = room.victims_by_resources(order) if counts_only else room.victims(order)
            victims = tuple(sorted(found, key=lambda o: importance(o, started)))
            n_violating = sum(victim.uid in spared for victim in victims)
            candidate = Candidate(node, victims, n_violating) if victims else None
            # Once a pod has started, its start time does not change.
            if of_kind is not None and not here and all(has_started(other.uid) for other in lower):
                of_kind[node.name] = node, node.version, candidate
        if candidate is not None:
            kind_of_candidates = violating_ones if candidate.n_violating else candidates
            if len(kind_of_candidates) < most:
                kind_of_candidates.append(candidate)
            if candidates and len(candidates) + len(violating_ones) >= most:
                break
    return cheapest([*candidates, *violating_ones], started)


def cheapest(candidates: Sequence[Candidate], started: Started) -> Candidate | None:
    """Return the candidate with the least important victims, ties by order; None if there is none."""
    return min(candidates, key=lambda candidate: _cost(candidate, started), default=None)


def by_importance(pods: Iterable[PodFacts], started: Started) -> list[PodFacts]:
    """Return pods of a node, the most important first.

    For each pod that has not started, util.MoreImportantPod reads the clock anew, so that the sort reverses them.
    """
    known: list[PodFacts] = []
    others: list[PodFacts] = []
    for pod in pods:
        (known if started(pod.uid) < math.inf else others).append(pod)
    return sorted([*known, *reversed(others)], key=lambda pod: importance(pod, started))


def importance(pod: PodFacts, started: Started) -> tuple[int, float]:
    """Return the sort key of a pod: the most important first."""
    return -pod.priority, started(pod.uid)


def _cost(candidate: Candidate, started: Started) -> tuple[float, ...]:
    victims = candidate.victims
    highest = victims[0].priority
    return (
        candidate.n_violating,
        highest,
        sum(victim.priority + _OFFSET for victim in victims),
        len(victims),
        -min(started(victim.uid) for victim in victims if victim.priority == highest),
    )


class _Room:
    """A node on which a search evicts pods for another one.

    Args:
        pod: The other pod.
        profile: Its profile.
        nodes: All nodes.
        node: The node.
        guests: The pods of at least the same priority that are nominated to the node.
        filters: The filters of the pod, before anything changes.
    """

    def __init__(
        self,
        pod: PodFacts,
        profile: Profile,
        nodes: Nodes,
        node: NodeState,
        guests: Sequence[PodFacts],
        *,
        filters: Filters,
    ) -> None:
        self._pod, self._profile, self._nodes, self._node, self._guests = pod, profile, nodes, node, guests
        self._filters = filters
        self._uncounted: dict[str, PodFacts] = {}
        """Terminating pods that are removed: PodTopologySpread did not count them before, and subtracts them."""

    def victims(self, lower: Sequence[PodFacts]) -> Sequence[PodFacts]:
        """Return the smallest set of victims that makes the node fit; `lower` lists the pods to keep first."""
        node = self._node
        if not lower or ("NodeResourcesFit" in self._profile.filters and not self._enough(lower)):
            return ()
        before = list(node.pods.values())
        victims: list[PodFacts] = []
        for other in lower:
            self._remove(other)
        try:
            if not self._fits():
                return ()
            for other in lower:
                self._add(other)
                if not self._fits():
                    self._remove(other)
                    victims.append(other)
            return victims
        finally:
            for other in lower:
                if other.uid not in node.pods:
                    node.add(other)
            # The engine searches on a copy of the node, whose order decides between equal pods.
            node.move_to_end(before)

    def _add(self, other: PodFacts) -> None:
        self._node.add(other)
        self._uncounted.pop(other.uid, None)

    def _remove(self, other: PodFacts) -> None:
        self._node.remove(other)
        if self._nodes.is_terminating(other.uid):
            self._uncounted[other.uid] = other

    def _fits(self) -> bool:
        """Return whether the pod fits with the nominated pods, and without them, as it might need them."""
        for guest in self._guests:
            self._node.add(guest)
        try:
            fits = self._passes()
        finally:
            for guest in self._guests:
                self._node.remove(guest)
        if not self._guests or not (self._pod.record.affinity or self._pod.spreads):
            return fits
        return fits and self._passes()

    def _passes(self) -> bool:
        if self._filters.is_lasting:
            return self._filters.filter_status(self._node) is None
        filters = Filters(
            self._pod, self._profile, self._nodes,
            skips_company=self._filters.skips_company, uncounted=(self._node.name, tuple(self._uncounted.values())),
        )  # fmt: skip
        return filters.filter_status(self._node) is None

    def victims_by_resources(self, lower: Sequence[PodFacts]) -> Sequence[PodFacts]:
        """Return the same if only the sums of requests matter, without removing pods from the node."""
        node, filters = self._node, self._filters
        if not lower or (filters.checks_resources and not self._enough(lower)):
            return ()
        victims: list[PodFacts] = []
        if filters.checks_resources and filters.fixed_status(node) is None:
            room = self._free()
            for other in lower:
                for name in room:
                    room[name] += other.request.get(name, 0)
            n_pods = node.allocatable.get(PODS, 0) - 1 - len(node.pods) - len(self._guests) + len(lower)
            # Without room for one more pod, no eviction helps.
            for other in lower if n_pods >= 0 else ():
                if n_pods and all(left >= other.request.get(name, 0) for name, left in room.items()):
                    n_pods -= 1
                    for name in room:
                        room[name] -= other.request.get(name, 0)
                else:
                    victims.append(other)
        return victims

    def _free(self) -> dict[str, int]:
        """Return what would be left of the pod's resources with it and the nominated pods."""
        return {
            name: self._node.free(name) - value - sum(guest.request.get(name, 0) for guest in self._guests)
            for name, value in self._pod.request.items()
            if value > 0 and self._profile.checks(name)
        }

    def _enough(self, lower: Sequence[PodFacts]) -> bool:
        """Return whether the node has enough resources for the pod without some other pods."""
        return all(
            left + sum(other.request.get(name, 0) for other in lower) >= 0 for name, left in self._free().items()
        )


def by_node(promised: Sequence[tuple[NodeState, PodFacts]]) -> dict[str, list[PodFacts]]:
    """Return nominated pods by the name of their node."""
    found: dict[str, list[PodFacts]] = {}
    for node, pod in promised:
        found.setdefault(node.name, []).append(pod)
    return found
