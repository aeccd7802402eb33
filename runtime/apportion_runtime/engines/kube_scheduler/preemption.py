"""Whom kube-scheduler evicts for a pod that no node fits: pods of lower priority on one node.

There are no disruption budgets in the simulation, so none is ever broken.

Source: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go and
framework/preemption/preemption.go (pickOneNodeForPreemption) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from apportion_runtime.engines.kube_scheduler.filters import Filters
from apportion_runtime.engines.kube_scheduler.nodes import Nodes, NodeState
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.engines.kube_scheduler.profiles import Profile

_OFFSET = 2**31
_LEAST_CANDIDATES, _PERCENT = 100, 10
Started = Callable[[str], float]
"""From a pod's uid to when it began to run, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node, and the pods that would have to leave it, the most important first."""

    node: NodeState
    victims: tuple[PodFacts, ...]


def best_candidate(
    pod: PodFacts,
    profile: Profile,
    nodes: Nodes,
    possible: Sequence[NodeState],
    *,
    started: Started,
) -> Candidate | None:
    """Return the node where the least important pods would leave for a pod; None where that would help nowhere.

    Args:
        pod: It.
        profile: Its own.
        nodes: All nodes.
        possible: Those where an eviction may help.
        started: Asked of pods of one priority: the one that runs longer stays.
    """
    most = max(_LEAST_CANDIDATES, len(nodes.all) * _PERCENT // 100)
    candidates: list[Candidate] = []
    for node in possible:
        lower = [other for other in node.pods.values() if other.priority < pod.priority]
        victims = _victims(pod, profile, nodes, node, sorted(lower, key=lambda o: (-o.priority, started(o.uid))))
        if victims:
            candidates.append(Candidate(node, victims))
            if len(candidates) >= most:
                break
    return min(candidates, key=lambda candidate: _cost(candidate, started), default=None)


def _cost(candidate: Candidate, started: Started) -> tuple[float, ...]:
    victims = candidate.victims
    highest = victims[0].priority
    return (
        highest,
        sum(victim.priority + _OFFSET for victim in victims),
        len(victims),
        -min(started(victim.uid) for victim in victims if victim.priority == highest),
    )


def _victims(
    pod: PodFacts, profile: Profile, nodes: Nodes, node: NodeState, lower: Sequence[PodFacts]
) -> tuple[PodFacts, ...]:
    """Return the fewest of some pods, given the most important first, without which a node fits."""
    if not lower:
        return ()
    if "NodeResourcesFit" in profile.filters and not _enough(pod, node, lower):
        return ()
    for other in lower:
        node.remove(other)
    victims: list[PodFacts] = []
    try:
        filters = Filters(pod, profile, nodes)
        if filters.misfit(node) is not None:
            return ()
        for other in lower:
            node.add(other)
            if not filters.is_lasting or other.record.anti_affinity:
                filters = Filters(pod, profile, nodes)
            if filters.misfit(node) is not None:
                node.remove(other)
                victims.append(other)
        return tuple(victims)
    finally:
        for other in lower:
            if other.uid not in node.pods:
                node.add(other)


def _enough(pod: PodFacts, node: NodeState, lower: Sequence[PodFacts]) -> bool:
    """Tell whether a node has enough of everything for a pod without some others."""
    return all(
        value <= node.free(name) + sum(other.request.get(name, 0) for other in lower)
        for name, value in pod.request.items()
        if value > 0
    )
