"""AP615: a setting of a node pool that its provider does not support, or that conflicts with another setting."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.checks.pool_settings import IneffectiveSetting
from apportion_compiler.checks.pool_settings_cloud import ack_faults, eks_faults, gke_faults
from apportion_compiler.checks.pool_settings_karpenter import karpenter_faults
from apportion_compiler.checks.queued_pools import queued_plan
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.pool import NodePool
from apportion_policy.providers import Ack, Eks, Fixed, Gke, Karpenter

POOL_SETTING_UNSUPPORTED = Rule(
    "AP615",
    "pool-setting-unsupported",
    Severity.WARNING,
    "a node pool has a setting that its provider does not support",
)


def pool_setting_unsupported(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Check the settings of each pool."""
    for pool in graph.declarations.pools.values():
        for unfit in _faults(pool, queued=queued_plan(graph, pool) is not None):
            yield Diagnostic(
                POOL_SETTING_UNSUPPORTED,
                f"node pool {pool.id}",
                f"`{pool.id}` {unfit.message}",
                pool.source,
                hint=unfit.hint,
            )


def _faults(pool: NodePool, *, queued: bool) -> Iterator[IneffectiveSetting]:
    match pool.provider:
        case Gke() as settings:
            yield from gke_faults(pool, settings, queued=queued)
        case Ack() as settings:
            yield from ack_faults(pool, settings)
        case Eks() as settings:
            yield from eks_faults(pool, settings)
        case Karpenter() as settings:
            yield from karpenter_faults(pool, settings)
        case Fixed():
            pass
