"""kube-scheduler's preemption: evicts pods of lower priority on one node for a pod that fits on no node.

Disruption budgets do not protect a pod: other victims are preferred, on the node and among the nodes.

Source: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go and
framework/preemption/preemption.go (pickOneNodeForPreemption) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from apportion_runtime.engines.kube_scheduler.disruption_budgets import DisruptionBudget, violating
from apportion_runtime.engines.kube_scheduler.filters import Filters
from apportion_runtime.engines.kube_scheduler.nodes import Nodes, NodeState
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.engines.kube_scheduler.profiles import Profile
from apportion_runtime.snapshots.pod_requests import PODS

_OFFSET = 2**31
_LEAST_CANDIDATES, _PERCENT = 100, 10
Started = Callable[[str], float]
"""Returns the start time of a pod by uid, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate node and its victims, the most important first; `n_violating` of them exceed a disruption budget."""

    node: NodeState
    victims: tuple[PodFacts, ...]
    n_violating: int = 0


def best_candidate(
    pod: PodFacts,
    profile: Profile,
    nodes: Nodes,
    possible: Sequence[NodeState],
    *,
    started: Started,
    budgets: Sequence[DisruptionBudget] = (),
) -> Candidate | None:
    """Return the node with the least important victims for a pod; None if preemption does not help.

    Args:
        pod: The pod.
        profile: The profile of the pod.
        nodes: All nodes.
        possible: The nodes where an eviction may help.
        started: Breaks ties of priority: the pod that has run longer is kept.
        budgets: Disruption budgets, which victims should not exceed.
    """
    most = max(_LEAST_CANDIDATES, len(nodes.all) * _PERCENT // 100)
    candidates: list[Candidate] = []
    has_unviolating = False
    filters = Filters(pod, profile, nodes)
    counts_only = filters.is_lasting and not pod.record.host_ports
    for node in possible:
        lower = sorted(
            (other for other in node.pods.values() if other.priority < pod.priority),
            key=lambda o: importance(o, started),
        )
        spared = violating(lower, budgets)
        order = [*(o for o in lower if o.uid in spared), *(o for o in lower if o.uid not in spared)]
        if counts_only:
            found = _victims_by_resources(pod, filters, node, order)
        else:
            found = _victims(pod, profile, nodes, node, order)
        victims = sorted(found, key=lambda o: importance(o, started))
        if victims:
            candidates.append(Candidate(node, tuple(victims), sum(victim.uid in spared for victim in victims)))
            has_unviolating = has_unviolating or not candidates[-1].n_violating
            if has_unviolating and len(candidates) >= most:
                break
    return cheapest(candidates, started)


def cheapest(candidates: Sequence[Candidate], started: Started) -> Candidate | None:
    """Return the candidate with the least important victims, ties by order; None if there is none."""
    return min(candidates, key=lambda candidate: _cost(candidate, started), default=None)


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


def _victims(
    pod: PodFacts, profile: Profile, nodes: Nodes, node: NodeState, lower: Sequence[PodFacts]
) -> tuple[PodFacts, ...]:
    """Return the smallest set of victims that makes a node fit; `lower` lists the pods to keep first."""
    if not lower:
        return ()
    if "NodeResourcesFit" in profile.filters and not _enough(pod, node, lower):
        return ()
    for other in lower:
        node.remove(other)
    victims: list[PodFacts] = []
    try:
        filters = Filters(pod, profile, nodes)
        if filters.filter_status(node) is not None:
            return ()
        for other in lower:
            node.add(other)
            if not filters.is_lasting or other.record.anti_affinity:
                filters = Filters(pod, profile, nodes)
            if filters.filter_status(node) is not None:
                node.remove(other)
                victims.append(other)
        return tuple(victims)
    finally:
        for other in lower:
            if other.uid not in node.pods:
                node.add(other)


def _victims_by_resources(
    pod: PodFacts, filters: Filters, node: NodeState, lower: Sequence[PodFacts]
) -> Sequence[PodFacts]:
    """Return the same if only the sums of requests matter, without removing pods from the node.

    The pods are in the same order as after removing and adding them, which decides between equal pods later.
    """
    if not lower or (filters.checks_resources and not _enough(pod, node, lower)):
        return ()
    kept: list[PodFacts] = []
    victims: list[PodFacts] = []
    if filters.checks_resources and filters.fixed_status(node) is None:
        asked = [(name, value) for name, value in pod.request.items() if value > 0]
        room = {name: node.free(name) - value + sum(o.request.get(name, 0) for o in lower) for name, value in asked}
        n_pods = node.allocatable.get(PODS, 0) - 1 - len(node.pods) + len(lower)
        # Without room for one more pod, no eviction helps.
        for other in lower if n_pods >= 0 else ():
            if n_pods and all(left >= other.request.get(name, 0) for name, left in room.items()):
                kept.append(other)
                n_pods -= 1
                for name in room:
                    room[name] -= other.request.get(name, 0)
            else:
                victims.append(other)
    node.move_to_end([*kept, *victims] or lower)
    return victims


def _enough(pod: PodFacts, node: NodeState, lower: Sequence[PodFacts]) -> bool:
    """Return whether a node has enough resources for a pod without some other pods."""
    return all(
        value <= node.free(name) + sum(other.request.get(name, 0) for other in lower)
        for name, value in pod.request.items()
        if value > 0
    )
