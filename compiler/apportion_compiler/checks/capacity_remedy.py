"""Remedies of a capacity shortage: more nodes in a pool, or a lower guarantee of a queue."""

from __future__ import annotations

from dataclasses import dataclass

from apportion_api.counted_nouns import counted
from apportion_compiler.checks.capacity import Holding, Shortage
from apportion_compiler.checks.edits import amount_edit
from apportion_compiler.cluster_share import guarantee_at_most, written_text
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.pool import NodePool
from apportion_policy.providers import Fixed
from apportion_policy.quantity import parse_weight
from apportion_policy.resources import CPU, MEMORY, amount_text

_MAX_RELATED = 10


@dataclass(frozen=True, slots=True)
class Remedy:
    """The smallest changes, as text and, if a single value suffices, as an edit."""

    hint: str
    fix: ValueEdit | None


def remedy(graph: PolicyGraph, shortage: Shortage) -> Remedy:
    """Return how much to raise max_nodes, or which queue to lower, to resolve the shortage."""
    excess = shortage.guaranteed - shortage.allowed
    largest, amount = shortage.claimants[0]
    can_lower = amount >= excess
    share = shortage.scope.share
    whose, end = (f"the guarantee of `{largest.id}`", "") if can_lower else ("the guarantees", " in total")
    lower = f"lower {whose} by {amount_text(shortage.resource, excess)}{end}"
    if share != 1:
        here = amount if can_lower else shortage.guaranteed
        left = guarantee_at_most(here - excess, share, shortage.resource)
        lower = f"lower {whose} to {written_text(shortage.resource, left, share, shortage.scope.name or '')}{end}"
    pools = growable(shortage.holding, shortage.resource)
    if pools:
        pool = max(pools, key=lambda p: (shortage.holding.machines[p.id], p.id))
        max_nodes = pool.max_nodes + _missing_nodes(graph, shortage, pool)
        fix = ValueEdit(pool.source, ("max_nodes",), max_nodes) if len(pools) == 1 else None
        return Remedy(f"raise `max_nodes` to {max_nodes} in `{pool.id}`, or {lower}", fix)
    fix = _lowered(graph, shortage, excess) if can_lower else None
    if shortage.holding.pools:
        return Remedy(f"{lower}, or add machines to {_names(shortage.holding)}", fix)
    return Remedy(f"{lower}, or add a node pool with this resource to {shortage.scope.name}", fix)


def shortage_found(rule: Rule, graph: PolicyGraph, shortage: Shortage, message: str) -> Diagnostic:
    """Return the finding for a shortage, with related places and a remedy."""
    cure = remedy(graph, shortage)
    return Diagnostic(
        rule,
        f"cluster {shortage.scope.name}",
        message,
        shortage.cluster.source,
        related_to_shortage(shortage),
        cure.hint,
        cure.fix,
        shortage.scope.name,
        # Workloads can use quota on nodes of queued provisioning to request them, so it may be intended.
        Severity.WARNING if shortage.is_covered_by_queued_nodes else None,
        also=tuple(scope.name for scope in shortage.also if scope.name is not None),
    )


def growable(holding: Holding, resource: str) -> list[NodePool]:
    """Return the pools that a provider can scale up; for CPU and memory, those without GPUs if any exist."""
    pools = [pool for pool in holding.pools.values() if not isinstance(pool.provider, Fixed)]
    ordinary = [pool for pool in pools if pool.accelerator is None]
    return ordinary if resource in (CPU, MEMORY) and ordinary else pools


def related_to_shortage(shortage: Shortage) -> tuple[Related, ...]:
    """Return the related places: the queues, largest first, the pools, and the other affected clusters."""
    resource, values = shortage.resource, shortage.scope.values
    queues = (
        Related(
            values[node.id].sources.get("guaranteed", node.queue.source),
            f"`{node.id}` is guaranteed {amount_text(resource, amount)}",
        )
        for node, amount in shortage.claimants[:_MAX_RELATED]
    )
    pools = (
        Related(
            pool.source,
            f"`{pool.id}` has at most {node_count(pool.max_nodes)} with "
            f"{amount_text(resource, shortage.holding.machines[pool.id])} each",
        )
        for pool in list(shortage.holding.pools.values())[:_MAX_RELATED]
    )
    clusters = (
        Related(scope.cluster.source, f"{scope.name} has the same shortage")
        for scope in shortage.also[:_MAX_RELATED]
        if scope.cluster is not None
    )
    queued = (
        Related(
            pool.source,
            f"nodes of `{pool.id}` are provisioned on request and may be unavailable, so they do not back guarantees",
        )
        for pool in shortage.queued[:_MAX_RELATED]
    )
    return (*queues, *pools, *queued, *clusters)


def node_count(n_nodes: int) -> str:
    """Return a number of nodes as text: `1 node`, `1,500 nodes`."""
    return counted(n_nodes, "node")


def overcommit_text(graph: PolicyGraph, shortage: Shortage) -> str:
    """Return the effect of an overcommit on the capacity, in brackets; empty if the policy allows none."""
    if shortage.allowed == shortage.available:
        return ""
    return (
        f" ({amount_text(shortage.resource, shortage.allowed)} with an overcommit of {graph.policy.rules.overcommit})"
    )


def _missing_nodes(graph: PolicyGraph, shortage: Shortage, pool: NodePool) -> int:
    ratio = parse_weight(graph.policy.rules.overcommit)
    needed = -(-shortage.guaranteed * 1000 // ratio) - shortage.available
    return -(-needed // shortage.holding.machines[pool.id])


def _lowered(graph: PolicyGraph, shortage: Shortage, excess: int) -> ValueEdit | None:
    """Return the edit of a leaf's declared guarantee, if the cluster uses it unscaled."""
    node, amount = shortage.claimants[0]
    own, base = shortage.scope.values[node.id], graph.base.values[node.id]
    as_written = str(shortage.cluster.share) == "1" and own.guaranteed.get(shortage.resource) == base.guaranteed.get(
        shortage.resource
    )
    if not node.is_leaf or not as_written or "guaranteed" in own.sources:
        return None
    return amount_edit(node, graph.base, "guaranteed", shortage.resource, amount - excess)


def _names(holding: Holding) -> str:
    return " or ".join(f"`{id_}`" for id_ in list(holding.pools)[:3])
