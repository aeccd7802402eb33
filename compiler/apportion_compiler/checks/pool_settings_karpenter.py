"""Settings of node pools that Karpenter does not support or rejects.

Source: the CRDs karpenter.sh/v1 at 226646810 and karpenter.k8s.aws/v1 at 1d92708.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from apportion_compiler.checks.pool_settings import IneffectiveSetting, without_sharing
from apportion_compiler.maintenance_windows import closed_time
from apportion_policy.pool import Maintenance, NodePool
from apportion_policy.providers import Karpenter

_TIME = re.compile(r"([0-9]+[smh])+|Never")
_RESERVATION = re.compile(r"cr-[0-9a-z]+")
_FAMILIES = ("al2", "al2023", "bottlerocket", "windows2019", "windows2022", "windows2025")


def karpenter_faults(pool: NodePool, settings: Karpenter) -> Iterator[IneffectiveSetting]:
    """Yield the faults of a pool that Karpenter creates."""
    yield from without_sharing(pool, "karpenter")
    if pool.machine_type is None and pool.accelerator is None:
        yield IneffectiveSetting(
            "has no machine type, so Karpenter may use any", f"set the machine_type of `{pool.id}`"
        )
    if pool.min_nodes and not settings.static_nodes:
        yield IneffectiveSetting(
            f"keeps at least {pool.min_nodes} nodes, but Karpenter creates nodes only for pending pods",
            f"set min_nodes of `{pool.id}` to 0, or static_nodes to true to always keep them",
        )
    if settings.static_nodes and pool.min_nodes != pool.max_nodes:
        yield IneffectiveSetting(
            f"keeps {pool.min_nodes} nodes at all times and never grows to {pool.max_nodes}",
            f"set max_nodes={pool.min_nodes}",
        )
    for field in ("consolidate_after", "expire_after"):
        value = str(getattr(settings, field))
        if not _TIME.fullmatch(value):
            yield IneffectiveSetting(
                f"has {field} {value}, which is not a duration such as 5m, or Never",
                f"set {field} to a duration such as 5m, or to Never",
            )
    if pool.reservation is not None:
        yield from _reservation(pool, pool.reservation, settings)
    if settings.ami_alias is not None:
        family, _, version = settings.ami_alias.partition("@")
        if family not in _FAMILIES or not version:
            yield IneffectiveSetting(
                f"has the image alias {settings.ami_alias}, which is not an AMI family with a version",
                "use an alias such as al2023@v20260101",
            )
    if pool.maintenance is not None:
        yield from _maintenance(pool, pool.maintenance)


def _reservation(pool: NodePool, reservation: str, settings: Karpenter) -> Iterator[IneffectiveSetting]:
    if not _RESERVATION.fullmatch(reservation):
        yield IneffectiveSetting(
            f"has the reservation {reservation}, which is not the id of a capacity reservation",
            "use an id such as cr-0123456789abcdef0",
        )
    if pool.spot:
        yield IneffectiveSetting(
            "uses spot machines and a reservation, but Karpenter uses only the reservation",
            f"set spot of `{pool.id}` to false",
        )
    if settings.role is None:
        yield IneffectiveSetting(
            f"has a reservation, but the node class {settings.node_class}, which must select it, is not declared here",
            "set role, ami_alias, subnet_tags and security_group_tags, or select it in the node class",
        )


def _maintenance(pool: NodePool, maintenance: Maintenance) -> Iterator[IneffectiveSetting]:
    if maintenance.exclusions:
        yield IneffectiveSetting(
            "has maintenance exclusions, but Karpenter's disruption budgets have no dates",
            f"remove the exclusions from `{pool.id}`",
        )
    if maintenance.window is not None and closed_time(maintenance.window) is None:
        yield IneffectiveSetting(
            f"has a maintenance window with the recurrence {maintenance.window.recurrence}, but Karpenter's disruption budgets support "
            "only daily windows and windows on one day of the week",
            "use FREQ=DAILY, or FREQ=WEEKLY with its start day",
        )
