"""The nodes that kube-scheduler examines for a pod, and the number that it scores.

Source: pkg/scheduler/schedule_one.go (findNodesThatPassFilters, numFeasibleNodesToFind) and
plugins/nodeaffinity/node_affinity.go (PreFilter) at v1.36.3.
"""

from __future__ import annotations

from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.engines.kube_scheduler.profiles import Profile

_LEAST_FEASIBLE, _LEAST_PERCENT = 100, 5


def named_nodes(pod: PodFacts, profile: Profile) -> frozenset[str] | None:
    """Return the names of the only nodes that PreFilter of NodeAffinity leaves; None if it leaves all."""
    terms = pod.record.node_affinity
    if not terms or not profile.names_nodes:
        return None
    found: frozenset[str] = frozenset()
    for term in terms:
        named = [frozenset(field.values) for field in term.fields if field.operator == "In"]
        if not named:
            return None
        found |= frozenset.intersection(*named)
    return found


def feasible_nodes_to_find(n_nodes: int, profile: Profile) -> int:
    """Return the number of feasible nodes after which the scheduler stops searching."""
    if not profile.has_scores:
        return min(n_nodes, 1)
    if n_nodes < _LEAST_FEASIBLE:
        return n_nodes
    percent = profile.percentage or max(_LEAST_PERCENT, 50 - n_nodes // 125)
    return max(_LEAST_FEASIBLE, n_nodes * percent // 100)
