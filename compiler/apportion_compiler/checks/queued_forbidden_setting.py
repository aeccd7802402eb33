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
from apportion_compiler.pool_label_keys import PROVIDER_NAMES
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
            f"uses the provider {PROVIDER_NAMES[pool.provider.kind]}, but only GKE supports {plan.provisioning_class}",
            f"remove `provisioning` from `{pool.id}`, or use a plan with a different class",
            ValueEdit(pool.source, ("provisioning",), None),
        )
        return
    yield from _of_pool(pool)
    yield from _of_provider(pool, pool.provider)
    yield from _of_upgrades(pool, pool.provider)


def _of_pool(pool: NodePool) -> Iterator[_Fault]:
    if pool.min_nodes:
        yield _Fault(
            f"sets `min_nodes` to {pool.min_nodes}, but queued provisioning requires 0",
            "set `min_nodes` to 0",
            ValueEdit(pool.source, ("min_nodes",), 0),
        )
    if pool.spot:
        yield _Fault(
            "uses spot machines, which queued provisioning does not support",
            "set `spot` to false",
            ValueEdit(pool.source, ("spot",), value=False),
        )
    if pool.reservation is not None:
        yield _Fault(
            f"uses the reservation {pool.reservation}, which queued provisioning does not support",
            f"remove `reservation` from `{pool.id}`",
            ValueEdit(pool.source, ("reservation",), None),
        )


def _of_provider(pool: NodePool, gke: Gke) -> Iterator[_Fault]:
    if gke.reservation_affinity != "none":
        yield _Fault(
            f'sets `reservation_affinity` to "{gke.reservation_affinity}", but queued provisioning requires "none" '
            "when the pool is created",
            'set `reservation_affinity` to "none"',
            ValueEdit(gke.source, ("reservation_affinity",), "none"),
        )
    if gke.location_policy != "ANY":
        yield _Fault(
            f"sets `location_policy` to {gke.location_policy}, but queued provisioning supports only ANY",
            "set `location_policy` to ANY",
            ValueEdit(gke.source, ("location_policy",), "ANY"),
        )
    if not gke.autoscaling:
        yield _Fault(
            "disables autoscaling, but queued provisioning requires the cluster autoscaler",
            "set `autoscaling` to true",
            ValueEdit(gke.source, ("autoscaling",), value=True),
        )
    if gke.auto_repair:
        yield _Fault(
            "repairs nodes automatically; each repair evicts the entire job that runs on the node",
            "set `auto_repair` to false",
            ValueEdit(gke.source, ("auto_repair",), value=False),
            Severity.WARNING,
        )


def _of_upgrades(pool: NodePool, gke: Gke) -> Iterator[_Fault]:
    in_channel = gke.release_channel != "none"
    if in_channel and not gke.auto_upgrade:
        when = "" if _says_when(pool) else " and add a maintenance window or exclusion"
        yield _Fault(
            f"disables automatic upgrades, which GKE rejects in the {gke.release_channel} release channel",
            f"set `auto_upgrade` to true{when}",
            None if when else ValueEdit(gke.source, ("auto_upgrade",), value=True),
        )
    elif in_channel and not _says_when(pool):
        yield _Fault(
            f"is upgraded with every release in the {gke.release_channel} channel, which evicts the entire job that "
            "runs on its nodes",
            f"add a maintenance window or exclusion to `{pool.id}`",
            None,
            Severity.WARNING,
        )
    elif not in_channel and gke.auto_upgrade:
        yield _Fault(
            "upgrades nodes automatically, which evicts the entire job that runs on them",
            "set `auto_upgrade` to false",
            ValueEdit(gke.source, ("auto_upgrade",), value=False),
            Severity.WARNING,
        )


def _says_when(pool: NodePool) -> bool:
    maintenance = pool.maintenance
    return maintenance is not None and (maintenance.window is not None or bool(maintenance.exclusions))
