"""Queues whose allowed node pools have no nodes on the clusters where they apply."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from apportion_compiler.graph.graph import PolicyGraph
from apportion_compiler.graph.node import Node
from apportion_policy.cluster import Cluster
from apportion_policy.identifiers import identity_of
from apportion_policy.pool import NodePool


@dataclass(frozen=True, slots=True)
class PoolFault:
    """A queue with a list of allowed pools, none of which is available.

    `cluster` is None if no cluster of any environment has one, and `prod/gpu-1` if no cluster of an environment has.
    `empty` are the existing pools with a max_nodes of 0; `instead` is a suitable pool.
    """

    node: Node
    pools: tuple[str, ...]
    cluster: str | None
    empty: tuple[NodePool, ...]
    instead: str | None


def pool_faults(graph: PolicyGraph) -> Iterator[PoolFault]:
    """Yield the faults of queues with a list of allowed pools, at the queue that declares the list."""
    for node in graph.nodes.values():
        refs = node.queue.pools
        if refs is None or not _holds_for_a_leaf(graph, node):
            continue
        named = tuple(identity_of(ref) for ref in refs)
        if not _usable_anywhere(graph, named):
            yield _fault(graph, node, named, None)
            continue
        for environment in graph.policy.environments:
            if not any(_usable(graph, cluster, named) for cluster in environment.clusters):
                for cluster in environment.clusters:
                    yield _fault(graph, node, named, f"{environment.name}/{cluster.name}", cluster)


def _holds_for_a_leaf(graph: PolicyGraph, node: Node) -> bool:
    return node.is_leaf or any(graph.nodes[child].queue.pools is None for child in node.children)


def _usable_anywhere(graph: PolicyGraph, named: tuple[str, ...]) -> bool:
    clusters = graph.declarations.clusters
    if not clusters:
        return any(graph.declarations.pools[pool].max_nodes for pool in named)
    return any(_usable(graph, cluster, named) for _, cluster in clusters)


def _usable(graph: PolicyGraph, cluster: Cluster, named: tuple[str, ...]) -> bool:
    """Return whether a cluster has nodes of a pool; one without a list of pools may have any."""
    if not cluster.pools:
        return bool(named)
    there = {identity_of(ref) for ref in cluster.pools}
    return any(graph.declarations.pools[pool].max_nodes for pool in named if pool in there)


def _fault(
    graph: PolicyGraph, node: Node, named: tuple[str, ...], where: str | None, cluster: Cluster | None = None
) -> PoolFault:
    pools = graph.declarations.pools
    clusters = [cluster] if cluster is not None else [c for _, c in graph.declarations.clusters]
    there = {identity_of(ref) for c in clusters for ref in c.pools} if clusters else set(pools)
    return PoolFault(
        node,
        named,
        where,
        tuple(pools[pool] for pool in named if not pools[pool].max_nodes),
        next((pool for pool in sorted(there) if pools[pool].max_nodes and pool not in named), None),
    )
