"""Properties that a queue inherits from its ancestors: GPU sharing, node pools, and LimitRanges."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from apportion_compiler.graph.graph import PolicyGraph
from apportion_compiler.graph.node import Node
from apportion_policy.identifiers import identity_of
from apportion_policy.limit_range import LimitRange


def upwards(node: Node, graph: PolicyGraph) -> Iterator[Node]:
    """Yield a queue and its ancestors up to the root."""
    yield node
    while node.parent is not None:
        node = graph.nodes[node.parent]
        yield node


def limit_ranges(node: Node, graph: PolicyGraph) -> tuple[LimitRange, ...]:
    """Return the LimitRanges of the nearest queue that declares any."""
    return next((above.queue.limit_ranges for above in upwards(node, graph) if above.queue.limit_ranges), ())


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
