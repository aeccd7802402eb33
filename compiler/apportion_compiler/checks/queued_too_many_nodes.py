"""AP608: a queued request for more nodes than GKE provisions at once."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.checks.queued_pools import MAX_NODES_PER_ZONE, queued_plans, queued_pools
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.pool import NodePool
from apportion_policy.provisioning import ProvisioningPlan

QUEUED_TOO_MANY_NODES = Rule(
    "AP608",
    "queued-too-many-nodes",
    Severity.ERROR,
    "a queued request may exceed the number of nodes that can be provisioned at once",
)
_BOUND = f"{MAX_NODES_PER_ZONE:,}"


def queued_too_many_nodes(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare plans, and pools in their zones, with the limits per request and per zone."""
    for plan in queued_plans(graph):
        if plan.max_nodes_per_request is not None and plan.max_nodes_per_request > MAX_NODES_PER_ZONE:
            yield Diagnostic(
                QUEUED_TOO_MANY_NODES,
                f"provisioning plan {plan.id}",
                f"`{plan.id}` allows up to {plan.max_nodes_per_request:,} nodes per request; GKE provisions at most "
                f"{_BOUND}",
                plan.source,
                (),
                f"lower `max_nodes_per_request` to {MAX_NODES_PER_ZONE}",
                ValueEdit(plan.source, ("max_nodes_per_request",), MAX_NODES_PER_ZONE),
            )
    for pool, plan in queued_pools(graph):
        if pool.zones and pool.max_nodes > MAX_NODES_PER_ZONE * len(pool.zones):
            yield _too_large_for_its_zones(pool)
        elif not pool.zones and pool.max_nodes > MAX_NODES_PER_ZONE and plan.max_nodes_per_request is None:
            yield _unbounded_request(pool, plan)


def _too_large_for_its_zones(pool: NodePool) -> Diagnostic:
    n_zones = len(pool.zones)
    most = MAX_NODES_PER_ZONE * n_zones
    zones = f"its {n_zones} zones" if n_zones > 1 else f"its zone {pool.zones[0]}"
    return Diagnostic(
        QUEUED_TOO_MANY_NODES,
        f"node pool {pool.id}",
        f"`{pool.id}` may have {pool.max_nodes:,} nodes in {zones}; GKE provisions at most {_BOUND} per zone",
        pool.source,
        (),
        f"lower `max_nodes` to {most}, or add zones",
        ValueEdit(pool.source, ("max_nodes",), most),
    )


def _unbounded_request(pool: NodePool, plan: ProvisioningPlan) -> Diagnostic:
    return Diagnostic(
        QUEUED_TOO_MANY_NODES,
        f"node pool {pool.id}",
        f"a single request for `{pool.id}` may require {pool.max_nodes:,} nodes; GKE provisions at most {_BOUND}, all "
        "in one zone",
        pool.source,
        (Related(plan.source, f"`{plan.id}` sets no limit per request"),),
        f"set `max_nodes_per_request` to {MAX_NODES_PER_ZONE} in `{plan.id}`",
        ValueEdit(plan.source, ("max_nodes_per_request",), MAX_NODES_PER_ZONE),
    )
