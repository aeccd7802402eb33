"""AP302: a node pool references a topology that its cluster does not define, or a cluster's topology has no pool."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.cluster import Cluster, Environment
from apportion_policy.placement import Topology
from apportion_policy.pool import NodePool

UNKNOWN_TOPOLOGY = Rule(
    "AP302", "unknown-topology", Severity.ERROR, "a node pool and its cluster disagree on the topology"
)


def unknown_topology(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare the topologies that pools name with those of each cluster that has the pools."""
    everywhere = {t.name for _, cluster in graph.declarations.clusters for t in cluster.topologies}
    reported: set[str] = set()
    for environment, cluster in graph.declarations.clusters:
        defined = {topology.name for topology in cluster.topologies}
        pools = graph.pools_of(cluster)
        for pool in pools:
            if pool.topology is None or pool.topology in defined or pool.id in reported:
                continue
            nowhere = pool.topology not in everywhere
            if nowhere:
                reported.add(pool.id)
            yield _undefined(pool, cluster, sorted(defined), None if nowhere else f"{environment.name}/{cluster.name}")
        named = {pool.topology for pool in pools if pool.topology is not None}
        # A wrong topology name makes the intended topology look unused: one finding is enough.
        if pools and named <= defined:
            yield from (_unused(t, environment, cluster) for t in cluster.topologies if t.name not in named)


def _undefined(pool: NodePool, cluster: Cluster, defined: list[str], scope: str | None) -> Diagnostic:
    assert pool.topology is not None
    meant = next(iter(get_close_matches(pool.topology, defined, n=1)), defined[0] if len(defined) == 1 else None)
    if scope is None:
        missing = "which no cluster defines"
    else:
        missing = f"which `{cluster.name}` does not define; it defines {', '.join(defined) or 'none'}"
    return Diagnostic(
        UNKNOWN_TOPOLOGY,
        f"node pool {pool.id}",
        f"`{pool.id}` uses the topology `{pool.topology}`, {missing}",
        pool.source,
        (Related(cluster.source, f"`{cluster.name}` lists the pool"),),
        f"set `topology` to `{meant}`"
        if meant is not None
        else f"add the topology `{pool.topology}` to `{cluster.name}`",
        ValueEdit(pool.source, ("topology",), meant) if meant is not None else None,
        scope,
    )


def _unused(topology: Topology, environment: Environment, cluster: Cluster) -> Diagnostic:
    return Diagnostic(
        UNKNOWN_TOPOLOGY,
        f"topology {topology.name}",
        f"no node pool in `{cluster.name}` uses its topology `{topology.name}`",
        topology.source,
        (Related(cluster.source, f"`{cluster.name}` declares the topology"),),
        f"set `topology` to `{topology.name}` in the pools whose nodes have its labels, or remove it from "
        f"`{cluster.name}`",
        None,
        f"{environment.name}/{cluster.name}",
        Severity.WARNING,
    )
