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
    yield from without_sharing(pool, "Karpenter")
    if pool.machine_type is None and pool.accelerator is None:
        yield IneffectiveSetting(
            "does not set `machine_type`, so Karpenter may use any machine type", "set `machine_type`"
        )
    if pool.min_nodes and not settings.static_nodes:
        yield IneffectiveSetting(
            f"keeps at least {pool.min_nodes} nodes, but Karpenter creates nodes only for pending pods",
            "set `min_nodes` to 0, or `static_nodes` to true to keep these nodes at all times",
        )
    if settings.static_nodes and pool.min_nodes != pool.max_nodes:
        yield IneffectiveSetting(
            f"keeps exactly {pool.min_nodes} nodes and never scales up to {pool.max_nodes}",
            f"set `max_nodes` to {pool.min_nodes}",
        )
    for field in ("consolidate_after", "expire_after"):
        value = str(getattr(settings, field))
        if not _TIME.fullmatch(value):
            yield IneffectiveSetting(
                f"sets `{field}` to {value}, which is neither Never nor a duration such as 5m",
                f"set `{field}` to Never or a duration such as 5m",
            )
    if pool.reservation is not None:
        yield from _reservation(pool, pool.reservation, settings)
    if settings.ami_alias is not None:
        family, _, version = settings.ami_alias.partition("@")
        if family not in _FAMILIES or not version:
            yield IneffectiveSetting(
                f"sets `ami_alias` to {settings.ami_alias}, which does not have the form FAMILY@VERSION",
                "use an alias such as al2023@v20260101",
            )
    if pool.maintenance is not None:
        yield from _maintenance(pool, pool.maintenance)


def _reservation(pool: NodePool, reservation: str, settings: Karpenter) -> Iterator[IneffectiveSetting]:
    if not _RESERVATION.fullmatch(reservation):
        yield IneffectiveSetting(
            f"sets `reservation` to {reservation}, which is not a capacity reservation id",
            "use an id such as cr-0123456789abcdef0",
        )
    if pool.spot:
        yield IneffectiveSetting(
            "combines a reservation with spot machines, but Karpenter then uses only the reservation",
            "set `spot` to false",
        )
    if settings.role is None:
        yield IneffectiveSetting(
            f"has a reservation, but does not declare the node class {settings.node_class}, which must select it",
            "set `role`, `ami_alias`, `subnet_tags` and `security_group_tags`, or select the reservation in the existing node class",
        )


def _maintenance(pool: NodePool, maintenance: Maintenance) -> Iterator[IneffectiveSetting]:
    if maintenance.exclusions:
        yield IneffectiveSetting(
            "has maintenance exclusions, but Karpenter's disruption budgets do not support dates",
            f"remove `exclusions` from `{pool.id}`",
        )
    if maintenance.window is not None and closed_time(maintenance.window) is None:
        yield IneffectiveSetting(
            f"has a maintenance window with recurrence {maintenance.window.recurrence}, but Karpenter supports only "
            "daily and weekly windows",
            "use FREQ=DAILY, or FREQ=WEEKLY on the weekday of the window's start",
        )
