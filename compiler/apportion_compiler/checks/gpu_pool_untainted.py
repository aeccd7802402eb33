"""AP605: a pool of GPU machines without a taint that keeps workloads without GPUs off its nodes."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.checks.queued_pools import has_repelling_taint, queued_plan
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_policy.identifiers import identity_of
from apportion_policy.pool import GPU_TAINT, NodePool, TaintEffect
from apportion_policy.providers import Gke

GPU_POOL_UNTAINTED = Rule(
    "AP605", "gpu-pool-untainted", Severity.WARNING, "no taint keeps workloads without GPUs off GPU machines"
)


def gpu_pool_untainted(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Report pools with GPUs and without the taint, except those that GKE taints itself.

    GKE taints the pools of queued provisioning, and the GPU pools of a cluster that has a pool without GPUs.
    """
    for pool in graph.declarations.pools.values():
        if pool.accelerator is None or has_repelling_taint(pool):
            continue
        if not isinstance(pool.provider, Gke):
            yield _finding(pool, None)
        elif queued_plan(graph, pool) is None:
            alone = next(_without_ordinary_pool(graph, pool), None)
            if alone is not None:
                yield _finding(pool, alone)


def _without_ordinary_pool(graph: PolicyGraph, pool: NodePool) -> Iterator[Scope]:
    for scope in graph.scopes:
        cluster = scope.cluster
        if (
            cluster is not None
            and pool.id in map(identity_of, cluster.pools)
            and all(other.accelerator is not None for other in graph.pools_of(cluster))
        ):
            yield scope


def _finding(pool: NodePool, alone: Scope | None) -> Diagnostic:
    assert pool.accelerator is not None
    soft = [taint for taint in pool.taints if taint.effect is TaintEffect.PREFER_NO_SCHEDULE]
    gpus = f"`{pool.id}` has {pool.accelerator.count} {pool.accelerator.model.upper()} per node"
    message = f"{gpus} but no taint that keeps workloads without GPUs off its nodes"
    if soft:
        message = f"{gpus}, but its taint {soft[0].key} has the effect PreferNoSchedule, which does not keep workloads without GPUs off its nodes"
    if alone is not None:
        message += f"; GKE adds none because {alone.name} has no pool without GPUs"
    effect = TaintEffect.NO_SCHEDULE.value
    return Diagnostic(
        GPU_POOL_UNTAINTED,
        f"node pool {pool.id}",
        message,
        pool.source,
        (),
        f"set the taint's `effect` to {effect}"
        if soft
        else f"add `taints=(GPU_TAINT,)`, which is {GPU_TAINT.key}={GPU_TAINT.value}:{effect}",
        ValueEdit(soft[0].source, ("effect",), effect) if len(soft) == 1 else None,
    )
