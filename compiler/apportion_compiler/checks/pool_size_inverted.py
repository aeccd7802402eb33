"""AP612: a node pool with an inverted size range, or without nodes although guarantees depend on it."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.checks.capacity import cluster_holdings, top_level_guarantees
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.graph.node import Node
from apportion_policy.pool import NodePool
from apportion_policy.resources import GPU, amount_text

POOL_SIZE_INVERTED = Rule(
    "AP612",
    "pool-size-inverted",
    Severity.ERROR,
    "a node pool has a minimum above its maximum, or a maximum of 0 nodes",
)
_MAX_RELATED = 10


def pool_size_inverted(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare the bounds of each pool, and report pools without nodes that are the only source of a guarantee."""
    inverted: set[str] = set()
    for pool in graph.declarations.pools.values():
        if pool.min_nodes > pool.max_nodes:
            inverted.add(pool.id)
            yield _inverted(pool)
    if any(pool.max_nodes == 0 for pool in graph.declarations.pools.values()):
        yield from _empty_pools(graph, inverted)


def _inverted(pool: NodePool) -> Diagnostic:
    return Diagnostic(
        POOL_SIZE_INVERTED,
        f"node pool {pool.id}",
        f"`{pool.id}` sets `min_nodes` to {pool.min_nodes:,}, but `max_nodes` to {pool.max_nodes:,}",
        pool.source,
        (),
        f"raise `max_nodes` to {pool.min_nodes}, or lower `min_nodes` to {pool.max_nodes}",
        ValueEdit(pool.source, ("max_nodes",), pool.min_nodes),
    )


def _empty_pools(graph: PolicyGraph, reported: set[str]) -> Iterator[Diagnostic]:
    for scope in graph.scopes:
        if scope.cluster is None:
            continue
        holdings = cluster_holdings(graph, scope.cluster)
        # Each pool is reported once, for its scarcest resource.
        for resource in sorted(holdings, key=_scarcest_first):
            holding = holdings[resource]
            if not holding.pools or holding.capacity:
                continue
            claimants = top_level_guarantees(graph, scope, resource)
            for pool in holding.pools.values() if claimants else ():
                if pool.id not in reported:
                    reported.add(pool.id)
                    yield _empty(scope, pool, resource, holding.machines[pool.id], claimants)


def _scarcest_first(resource: str) -> tuple[bool, bool, str]:
    return not resource.startswith(GPU), resource == GPU, resource


def _empty(scope: Scope, pool: NodePool, resource: str, machine: int, claimants: list[tuple[Node, int]]) -> Diagnostic:
    guaranteed = sum(amount for _, amount in claimants)
    return Diagnostic(
        POOL_SIZE_INVERTED,
        f"node pool {pool.id}",
        f"`{pool.id}` sets `max_nodes` to 0, but queues on {scope.name} are guaranteed "
        f"{amount_text(resource, guaranteed)}, which no node pool provides",
        pool.source,
        tuple(
            Related(node.queue.source, f"`{node.id}` is guaranteed {amount_text(resource, amount)}")
            for node, amount in claimants[:_MAX_RELATED]
        ),
        f"raise `max_nodes` to {-(-guaranteed // machine)}",
        ValueEdit(pool.source, ("max_nodes",), -(-guaranteed // machine)),
        scope.name,
    )
