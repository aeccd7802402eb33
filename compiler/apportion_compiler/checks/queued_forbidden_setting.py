"""AP610: settings of a node pool that GKE rejects or discourages with queued provisioning.

Source: cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest (creating a node pool, prerequisites of an
existing one, disruption settings, limitations).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from apportion_compiler.checks.queued_pools import queued_pools
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.pool import NodePool
from apportion_policy.providers import Gke
from apportion_policy.provisioning import ProvisioningPlan

QUEUED_FORBIDDEN_SETTING = Rule(
    "AP610",
    "queued-forbidden-setting",
    Severity.ERROR,
    "a node pool has a setting that its provider forbids with queued provisioning",
)


@dataclass(frozen=True, slots=True)
class _Fault:
    """A setting, the reason for the conflict, the remedy, and whether GKE only advises against it."""

    message: str
    hint: str
    fix: ValueEdit | None
    severity: Severity | None = None


def queued_forbidden_setting(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Check the settings of every pool with a plan of GKE's queued provisioning."""
    for pool, plan in queued_pools(graph):
        for fault in _faults(pool, plan):
            yield Diagnostic(
                QUEUED_FORBIDDEN_SETTING,
                f"node pool {pool.id}",
                f"`{pool.id}` {fault.message}",
                pool.source,
                (Related(plan.source, f"`{plan.id}` uses queued provisioning"),),
                fault.hint,
                fault.fix,
                None,
                fault.severity,
            )


def _faults(pool: NodePool, plan: ProvisioningPlan) -> Iterator[_Fault]:
    if not isinstance(pool.provider, Gke):
        yield _Fault(
            f"is provided by {pool.provider.kind}, but only gke supports {plan.provisioning_class}",
            f"remove `provisioning` from `{pool.id}`, or use a plan of a different class",
            ValueEdit(pool.source, ("provisioning",), None),
        )
        return
    yield from _of_pool(pool)
    yield from _of_provider(pool, pool.provider)
    yield from _of_upgrades(pool, pool.provider)


def _of_pool(pool: NodePool) -> Iterator[_Fault]:
    if pool.min_nodes:
        yield _Fault(
            f"keeps at least {pool.min_nodes} nodes; queued provisioning requires a minimum of 0",
            f"set min_nodes of `{pool.id}` to 0",
            ValueEdit(pool.source, ("min_nodes",), 0),
        )
    if pool.spot:
        yield _Fault(
            "uses spot machines, which queued provisioning does not support",
            f"set spot of `{pool.id}` to false",
            ValueEdit(pool.source, ("spot",), value=False),
        )
    if pool.reservation is not None:
        yield _Fault(
            f"uses reservation {pool.reservation}, which queued provisioning does not support",
            f"remove `reservation` from `{pool.id}`",
            ValueEdit(pool.source, ("reservation",), None),
        )


def _of_provider(pool: NodePool, gke: Gke) -> Iterator[_Fault]:
    if gke.reservation_affinity != "none":
        yield _Fault(
            f"has the reservation affinity {gke.reservation_affinity}; queued provisioning requires none, set when "
            "the pool is created",
            f'set reservation_affinity="none" on the provider of `{pool.id}`',
            ValueEdit(gke.source, ("reservation_affinity",), "none"),
        )
    if gke.location_policy != "ANY":
        yield _Fault(
            f"has the location policy {gke.location_policy}; queued provisioning supports only ANY",
            f'set location_policy="ANY" on the provider of `{pool.id}`',
            ValueEdit(gke.source, ("location_policy",), "ANY"),
        )
    if not gke.autoscaling:
        yield _Fault(
            "does not autoscale, but the cluster autoscaler fulfils queued requests",
            f"set autoscaling of `{pool.id}` to true",
            ValueEdit(gke.source, ("autoscaling",), value=True),
        )
    if gke.auto_repair:
        yield _Fault(
            "repairs nodes automatically, which evicts the entire job that they were provisioned for",
            f"set auto_repair of `{pool.id}` to false",
            ValueEdit(gke.source, ("auto_repair",), value=False),
            Severity.WARNING,
        )


def _of_upgrades(pool: NodePool, gke: Gke) -> Iterator[_Fault]:
    in_channel = gke.release_channel != "none"
    if in_channel and not gke.auto_upgrade:
        when = "" if _says_when(pool) else " and add a maintenance window or exclusion"
        yield _Fault(
            f"disables automatic upgrades, which GKE rejects in release channel {gke.release_channel}",
            f"set auto_upgrade of `{pool.id}` to true{when}",
            None if when else ValueEdit(gke.source, ("auto_upgrade",), value=True),
        )
    elif in_channel and not _says_when(pool):
        yield _Fault(
            f"is upgraded whenever the release channel {gke.release_channel} has a new version, which evicts the "
            "entire job that its nodes were provisioned for",
            f"add a maintenance window or exclusion to `{pool.id}`",
            None,
            Severity.WARNING,
        )
    elif not in_channel and gke.auto_upgrade:
        yield _Fault(
            "upgrades nodes automatically, which evicts the entire job that they were provisioned for",
            f"set auto_upgrade of `{pool.id}` to false",
            ValueEdit(gke.source, ("auto_upgrade",), value=False),
            Severity.WARNING,
        )


def _says_when(pool: NodePool) -> bool:
    maintenance = pool.maintenance
    return maintenance is not None and (maintenance.window is not None or bool(maintenance.exclusions))
