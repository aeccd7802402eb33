"""kube-scheduler's scores of feasible nodes, integers from 0 to 100 each.

Source: pkg/scheduler/framework/plugins at v1.36.3: noderesources (least_allocated.go, most_allocated.go,
requested_to_capacity_ratio.go, balanced_allocation.go, resource_allocation.go), nodeaffinity, tainttoleration,
interpodaffinity, helper/normalize_score.go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from apportion_runtime.core.plugins.pod_affinity import selects
from apportion_runtime.core.plugins.predicates import matches_terms, tolerates
from apportion_runtime.core.pod_constraints import PodTerm
from apportion_runtime.engines.kube_scheduler.nodes import Nodes, NodeState
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.engines.kube_scheduler.profiles import BY_SHAPE, LEAST, MOST, Profile
from apportion_runtime.engines.kube_scheduler.topology_spread import spread_scores
from apportion_runtime.snapshots.pod_requests import CPU, MEMORY, is_scalar

_MOST = 100
_SHAPE_FACTOR = 10
"""Scores of RequestedToCapacityRatio shapes are from 0 to 10."""


def scores(pod: PodFacts, profile: Profile, fitting: Sequence[NodeState], nodes: Nodes) -> list[int]:
    """Return the score of each feasible node."""
    total = [0] * len(fitting)

    def add(plugin: str, found: Sequence[int] | None) -> None:
        weight = profile.weights.get(plugin, 0)
        for i, score in enumerate(found or ()):
            total[i] += weight * score

    if profile.weights.get("NodeResourcesFit"):
        add("NodeResourcesFit", [fit_score(pod, node, profile) for node in fitting])
    if profile.weights.get("NodeResourcesBalancedAllocation") and _is_balanced(pod, profile):
        add("NodeResourcesBalancedAllocation", [balance_score(pod, node, profile.balanced) for node in fitting])
    if profile.weights.get("TaintToleration"):
        add("TaintToleration", _normalized([_untolerated_taints(pod, node) for node in fitting], reverse=True))
    if profile.weights.get("NodeAffinity") and (pod.preferred_nodes or profile.added_preferences):
        add("NodeAffinity", _normalized([_preferred(pod, profile, node) for node in fitting]))
    if profile.weights.get("PodTopologySpread"):
        add("PodTopologySpread", spread_scores(pod, profile, fitting, nodes))
    if profile.weights.get("InterPodAffinity"):
        add("InterPodAffinity", _company_scores(pod, profile, fitting, nodes))
    return total


def resource_score(pod: PodFacts, node: NodeState, profile: Profile) -> int:
    """Return the part of a node's score that depends on its resources alone."""
    weights = profile.weights
    total = 0
    if weight := weights.get("NodeResourcesFit"):
        total += weight * fit_score(pod, node, profile)
    if (weight := weights.get("NodeResourcesBalancedAllocation")) and _is_balanced(pod, profile):
        total += weight * balance_score(pod, node, profile.balanced)
    return total


def _is_balanced(pod: PodFacts, profile: Profile) -> bool:
    """Return whether a pod requests a resource whose balance is scored (balanced_allocation.go, PreScore)."""
    return any(map(pod.request.get, profile.balanced))


def fit_score(pod: PodFacts, node: NodeState, profile: Profile) -> int:
    """Return the NodeResourcesFit score of a node, by the profile's strategy."""
    total = weights = 0
    for name, weight in profile.resources.items():
        asked = _asked(pod, name, nonzero=True)
        capacity = node.allocatable.get(name, 0)
        if capacity == 0 or (asked == 0 and is_scalar(name)):
            continue
        held = asked + _held(node, name, nonzero=True)
        if profile.strategy == MOST:
            score = min(held, capacity) * _MOST // capacity
        elif profile.strategy == BY_SHAPE:
            score = _by_shape(held, capacity, profile.shape)
            if score <= 0:
                continue
        else:
            assert profile.strategy == LEAST, profile.strategy
            score = 0 if held > capacity else (capacity - held) * _MOST // capacity
        total += score * weight
        weights += weight
    if not weights:
        return 0
    return math.floor(total / weights + 0.5) if profile.strategy == BY_SHAPE else total // weights


def _asked(pod: PodFacts, name: str, *, nonzero: bool) -> int:
    if nonzero and name in (CPU, MEMORY):
        return pod.nonzero[name == MEMORY]
    return pod.request.get(name, 0)


def _held(node: NodeState, name: str, *, nonzero: bool) -> int:
    if nonzero and name == CPU:
        return node.nonzero_cpu
    if nonzero and name == MEMORY:
        return node.nonzero_memory
    return node.requested.get(name, 0)


def _by_shape(held: int, capacity: int, shape: Sequence[tuple[int, int]]) -> int:
    utilization = min(_MOST, held * _MOST // capacity)
    points = [(at, score * _SHAPE_FACTOR) for at, score in shape]
    for i, (at, score) in enumerate(points):
        if utilization <= at:
            if i == 0:
                return score
            before_at, before = points[i - 1]
            # Go divides towards zero.
            return before + int((score - before) * (utilization - before_at) / (at - before_at))
    return points[-1][1] if points else 0


def balance_score(pod: PodFacts, node: NodeState, resources: Mapping[str, int]) -> int:
    """Return the NodeResourcesBalancedAllocation score of a node."""
    before: list[float] = []
    after: list[float] = []
    for name in resources:
        asked, capacity = _asked(pod, name, nonzero=False), node.allocatable.get(name, 0)
        if capacity == 0 or (asked == 0 and is_scalar(name)):
            continue
        held = _held(node, name, nonzero=False)
        before.append(min(1.0, held / capacity))
        after.append(min(1.0, (held + asked) / capacity))
    # Go divides towards zero, and the difference is at least -50.
    return _MOST // 2 + (_MOST // 2 + evenness(after) - evenness(before)) // 2


def evenness(parts: Sequence[float]) -> int:
    """Return the evenness of fractions, from 0 to 100."""
    deviation = 0.0
    if len(parts) == 2:
        deviation = abs((parts[0] - parts[1]) / 2)
    elif len(parts) > 2:
        mean = sum(parts) / len(parts)
        deviation = math.sqrt(sum((part - mean) * (part - mean) for part in parts) / len(parts))
    return int((1 - deviation) * _MOST)


def _untolerated_taints(pod: PodFacts, node: NodeState) -> int:
    """Return the number of untolerated PreferNoSchedule taints of a node."""
    tolerations = [t for t in pod.record.tolerations if t.effect in ("", "PreferNoSchedule")]
    return sum(
        taint.effect == "PreferNoSchedule" and not any(tolerates(toleration, taint) for toleration in tolerations)
        for taint in node.record.taints
    )


def _preferred(pod: PodFacts, profile: Profile, node: NodeState) -> int:
    terms = (*profile.added_preferences, *pod.preferred_nodes)
    return sum(weight for weight, term in terms if matches_terms((term,), node.record))


def _normalized(found: Sequence[int], *, reverse: bool = False) -> list[int]:
    most = max(found, default=0)
    if most == 0:
        return [_MOST] * len(found) if reverse else list(found)
    made = [_MOST * score // most for score in found]
    return [_MOST - score for score in made] if reverse else made


def _company_scores(pod: PodFacts, profile: Profile, fitting: Sequence[NodeState], nodes: Nodes) -> list[int] | None:
    if not pod.preferred_pods and not nodes.has_affinity:
        return None
    if profile.ignores_preferences and not pod.preferred_pods:
        return None
    by_value: dict[tuple[str, str], int] = {}

    def count(term: PodTerm, weight: int, node: NodeState) -> None:
        value = node.record.labels.get(term.topology_key)
        if value is not None:
            key = (term.topology_key, value)
            by_value[key] = by_value.get(key, 0) + weight

    for node in nodes.all:
        for other in node.pods.values():
            for weight, term in pod.preferred_pods:
                if selects(term, pod.record, other.record):
                    count(term, weight, node)
            for term in other.record.affinity if profile.hard_affinity_weight else ():
                if selects(term, other.record, pod.record):
                    count(term, profile.hard_affinity_weight, node)
            for weight, term in other.preferred_pods:
                if selects(term, other.record, pod.record):
                    count(term, weight, node)
    if not by_value:
        return None
    found = [
        sum(amount for (key, value), amount in by_value.items() if node.record.labels.get(key) == value)
        for node in fitting
    ]
    least, most = min(found, default=0), max(found, default=0)
    return [int(_MOST * ((score - least) / (most - least))) if most > least else 0 for score in found]
