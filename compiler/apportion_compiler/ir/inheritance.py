"""Properties that a queue inherits from its ancestors: GPU sharing, node pools, LimitRanges, and the policy of kube-queue."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.identifiers import identity_of
from apportion_policy.limit_range import LimitRange


def limit_ranges(graph: PolicyGraph) -> Mapping[str, tuple[LimitRange, ...]]:
    """Return, for each queue, the LimitRanges of the nearest queue that declares any."""
    ranges: dict[str, tuple[LimitRange, ...]] = {}
    for node in graph.nodes.values():
        inherited = ranges[node.parent] if node.parent is not None else ()
        ranges[node.id] = node.queue.limit_ranges or inherited
    return ranges


def queue_policies(graph: PolicyGraph) -> Mapping[str, str | None]:
    """Return, for each queue, the `queue_policy` of kube-queue that the nearest queue declares."""
    policies: dict[str, str | None] = {}
    for node in graph.nodes.values():
        inherited = policies[node.parent] if node.parent is not None else None
        own = None if node.queue.ack is None else node.queue.ack.queue_policy
        policies[node.id] = inherited if own is None else own
    return policies


def gpu_sharing(graph: PolicyGraph) -> Mapping[str, bool]:
    """Return, for each queue, whether its pods may share GPUs."""
    sharing: dict[str, bool] = {}
    for node in graph.nodes.values():
        inherited = sharing[node.parent] if node.parent is not None else False
        sharing[node.id] = inherited if node.queue.gpu_sharing is None else node.queue.gpu_sharing
    return sharing


def usable_pools(graph: PolicyGraph, of_cluster: Collection[str] | None) -> Mapping[str, tuple[str, ...]]:
    """Return the ids of each queue's pools, in order of name.

    Without a list of the cluster's pools, keep every named one.
    """
    usable: dict[str, tuple[str, ...]] = {}
    for node in graph.nodes.values():
        inherited = usable[node.parent] if node.parent is not None else tuple(sorted(of_cluster or ()))
        named = None if node.queue.pools is None else {identity_of(pool) for pool in node.queue.pools}
        if named is None:
            usable[node.id] = inherited
        else:
            usable[node.id] = tuple(sorted(named if of_cluster is None else named.intersection(of_cluster)))
    return usable
