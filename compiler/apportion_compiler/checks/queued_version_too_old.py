"""AP611: queued provisioning requires a feature that the cluster's GKE version does not have."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.checks.gke_version import is_older, parse_gke_version
from apportion_compiler.checks.queued_pools import queued_pools
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.pool import NodePool
from apportion_policy.providers import Gke
from apportion_policy.provisioning import MAX_RUN_DURATION_PARAMETER, ProvisioningPlan

QUEUED_VERSION_TOO_OLD = Rule(
    "AP611", "queued-version-too-old", Severity.ERROR, "a GKE version does not support queued provisioning as declared"
)

SINCE_MAX_RUN_DURATION = "1.28.5-gke.1355000"
SINCE_NODE_AUTO_PROVISIONING = "1.29.2-gke.1553000"
"""First versions with each. Source: cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest."""


def queued_version_too_old(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare the declared GKE version of a queued pool with the features of the pool and its plan."""
    for pool, plan in queued_pools(graph):
        provider = pool.provider
        if not isinstance(provider, Gke) or provider.version is None:
            continue
        version = parse_gke_version(provider.version)
        if version is None:
            yield _unreadable(pool, provider.version)
            continue
        for what, since, related in _needs(plan, provider):
            wanted = parse_gke_version(since)
            if wanted is not None and is_older(version, wanted):
                yield Diagnostic(
                    QUEUED_VERSION_TOO_OLD,
                    f"node pool {pool.id}",
                    f"`{pool.id}` runs GKE {provider.version}, but {what} requires {since} or later",
                    pool.source,
                    related,
                    f"upgrade the cluster to {since} or later",
                    ValueEdit(provider.source, ("version",), since),
                )


def _needs(plan: ProvisioningPlan, provider: Gke) -> Iterator[tuple[str, str, tuple[Related, ...]]]:
    if plan.max_run_duration is not None or MAX_RUN_DURATION_PARAMETER in plan.parameters:
        place = Related(plan.source, f"`{plan.id}` limits the lifetime of nodes")
        yield f"`{MAX_RUN_DURATION_PARAMETER}` in `{plan.id}`", SINCE_MAX_RUN_DURATION, (place,)
    if provider.node_auto_provisioning:
        yield "queued provisioning with node auto-provisioning", SINCE_NODE_AUTO_PROVISIONING, ()


def _unreadable(pool: NodePool, version: str) -> Diagnostic:
    return Diagnostic(
        QUEUED_VERSION_TOO_OLD,
        f"node pool {pool.id}",
        f'`{pool.id}` runs GKE "{version[:64]}", which is not a version such as {SINCE_NODE_AUTO_PROVISIONING}',
        pool.source,
        (),
        "use `currentMasterVersion` from the output of `gcloud container clusters describe`",
    )
