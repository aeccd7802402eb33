"""Node pools that GKE provisions for a whole workload (Dynamic Workload Scheduler), and their limits.

Source: cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest, prerequisites and limitations.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.identifiers import identity_of
from apportion_policy.pool import NodePool, TaintEffect
from apportion_policy.provisioning import QUEUED_PROVISIONING_GKE, ProvisioningPlan

MAX_NODES_PER_ZONE = 1_000
"""Maximum machines of a request, which are in a single zone, and of a node pool in one zone."""


def queued_plans(graph: PolicyGraph) -> Iterator[ProvisioningPlan]:
    """Yield the plans of GKE's queued provisioning, used or unused."""
    for plan in graph.declarations.plans.values():
        if plan.provisioning_class == QUEUED_PROVISIONING_GKE:
            yield plan


def queued_pools(graph: PolicyGraph) -> Iterator[tuple[NodePool, ProvisioningPlan]]:
    """Yield the node pools with such a plan, and the plan."""
    for pool in graph.declarations.pools.values():
        plan = queued_plan(graph, pool)
        if plan is not None:
            yield pool, plan


def queued_plan(graph: PolicyGraph, pool: NodePool) -> ProvisioningPlan | None:
    """Return the plan of GKE's queued provisioning of a pool."""
    if pool.provisioning is None:
        return None
    plan = graph.declarations.plans.get(identity_of(pool.provisioning))
    return plan if plan is not None and plan.provisioning_class == QUEUED_PROVISIONING_GKE else None


def has_repelling_taint(pool: NodePool) -> bool:
    """Return whether a taint of the pool repels all workloads that do not tolerate it."""
    return any(taint.effect is not TaintEffect.PREFER_NO_SCHEDULE for taint in pool.taints)
