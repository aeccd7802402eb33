"""AP604: a node pool that no queue can use."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.checks.queued_pools import queued_plan
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity
from apportion_compiler.graph.graph import PolicyGraph
from apportion_compiler.graph.node import Node
from apportion_policy.identifiers import identity_of
from apportion_policy.pool import NodePool

POOL_UNUSED = Rule("AP604", "pool-unused", Severity.WARNING, "a node pool cannot be used by any queue")

_MAX_RELATED = 10


def pool_unused(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Report pools that no cluster lists, and special pools that every queue excludes.

    An ordinary pool that queues exclude is valid: the cluster's own workloads run there.
    """
    clusters = [cluster for _, cluster in graph.declarations.clusters]
    lists_all = bool(clusters) and all(cluster.pools for cluster in clusters)
    listed = {identity_of(ref) for cluster in clusters for ref in cluster.pools}
    named_by = _naming_queues(graph)
    named = None if named_by is None else {identity_of(ref) for node in named_by for ref in node.queue.pools or ()}
    for pool in graph.declarations.pools.values():
        if lists_all and pool.id not in listed:
            yield _unlisted(graph, pool)
        elif named is not None and named_by and pool.id not in named and not _is_ordinary(graph, pool):
            yield _left_out(pool, named_by)


def _naming_queues(graph: PolicyGraph) -> list[Node] | None:
    """Return the queues whose `pools` apply to some leaf; None if a leaf may use every pool."""
    naming: set[str] = set()
    for leaf in graph.leaves:
        holder = next(
            (graph.nodes[id_] for id_ in reversed(leaf.path) if graph.nodes[id_].queue.pools is not None), None
        )
        if holder is None:
            return None
        naming.add(holder.id)
    return [node for node in graph.nodes.values() if node.id in naming]


def _is_ordinary(graph: PolicyGraph, pool: NodePool) -> bool:
    return pool.accelerator is None and queued_plan(graph, pool) is None


def _unlisted(graph: PolicyGraph, pool: NodePool) -> Diagnostic:
    n_clusters = len(graph.declarations.clusters)
    environment, cluster = graph.declarations.clusters[0]
    return Diagnostic(
        POOL_UNUSED,
        f"node pool {pool.id}",
        f"none of the {n_clusters} clusters lists `{pool.id}` in `pools`"
        if n_clusters > 1
        else f"{environment.name}/{cluster.name} does not list `{pool.id}` in `pools`",
        pool.source,
        (),
        f"add `{pool.id}` to `pools` in {environment.name}/{cluster.name}, or remove it"
        if n_clusters == 1
        else f"add `{pool.id}` to `pools` in a cluster, or remove it",
    )


def _left_out(pool: NodePool, named_by: list[Node]) -> Diagnostic:
    n_queues = len(named_by)
    message = f"`{named_by[0].id}`, the only queue with `pools`, does not list `{pool.id}`"
    if n_queues > 1:
        message = f"none of the {n_queues:,} queues with `pools` lists `{pool.id}`"
    return Diagnostic(
        POOL_UNUSED,
        f"node pool {pool.id}",
        message,
        pool.source,
        tuple(Related(node.queue.source, f"`{node.id}` may use {_names(node)}") for node in named_by[:_MAX_RELATED]),
        f"add `{pool.id}` to `pools` in `{named_by[0].id}`, or remove it",
    )


def _names(node: Node) -> str:
    return ", ".join(identity_of(ref) for ref in node.queue.pools or ()) or "none"
