"""AP606: a cluster has only node pools with queued provisioning, so that no other workloads can run."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.checks.queued_pools import has_repelling_taint, queued_plan
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_policy.cluster import Cluster
from apportion_policy.pool import NodePool

NO_ORDINARY_POOL = Rule(
    "AP606", "no-ordinary-pool", Severity.ERROR, "a cluster has queued node pools but no pool for other workloads"
)


def no_ordinary_pool(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Report clusters with queued pools and without an untainted pool that starts nodes for other workloads."""
    if not graph.declarations.plans:
        return
    for scope in graph.scopes:
        pools = graph.pools_of(scope.cluster) if scope.cluster is not None else ()
        queued = [pool for pool in pools if queued_plan(graph, pool) is not None]
        others = [pool for pool in pools if queued_plan(graph, pool) is None]
        if scope.cluster is not None and queued and not any(map(_is_ordinary, others)):
            yield _finding(graph, scope, scope.cluster, queued, others)


def _is_ordinary(pool: NodePool) -> bool:
    return pool.max_nodes > 0 and not has_repelling_taint(pool)


def _finding(
    graph: PolicyGraph, scope: Scope, cluster: Cluster, queued: list[NodePool], others: list[NodePool]
) -> Diagnostic:
    names = ", ".join(f"`{pool.id}`" for pool in queued)
    message = f"{scope.name} has {names} with queued provisioning but no pool for other workloads"
    if others:
        empty = [pool for pool in others if pool.max_nodes == 0]
        fault = "accept only workloads that tolerate their taints"
        if empty:
            fault = "have no nodes" if empty == others else f"have no nodes or {fault}"
        message = f"{scope.name} has {names} with queued provisioning, but its other pools {fault}"
    ordinary = next(
        (
            pool
            for pool in graph.declarations.pools.values()
            if pool.accelerator is None and _is_ordinary(pool) and queued_plan(graph, pool) is None
        ),
        None,
    )
    what = f"`{ordinary.id}`" if ordinary is not None else "a node pool without taints and without `provisioning`"
    return Diagnostic(
        NO_ORDINARY_POOL,
        f"cluster {scope.name}",
        message,
        cluster.source,
        tuple(Related(pool.source, f"`{pool.id}` is provisioned on request only") for pool in queued)
        + tuple(Related(pool.source, _why_not(pool)) for pool in others),
        f"add {what} to `pools` in {scope.name}",
        None,
        scope.name,
    )


def _why_not(pool: NodePool) -> str:
    return f"`{pool.id}` sets `max_nodes` to 0" if pool.max_nodes == 0 else f"`{pool.id}` is tainted"
