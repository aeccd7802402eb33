"""Unsupported settings of node pools: the type, and the checks that several providers share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from apportion_policy.pool import NodePool


@dataclass(frozen=True, slots=True)
class IneffectiveSetting:
    """A setting that has no effect, or that the provider rejects.

    `message` continues the pool's id.
    """

    message: str
    hint: str


def without_maintenance(pool: NodePool, provider: str) -> Iterator[IneffectiveSetting]:
    """Yield a fault if a pool has maintenance times, which its provider does not support."""
    if pool.maintenance is not None:
        yield IneffectiveSetting(
            f"sets `maintenance`, which {provider} node pools do not support",
            f"remove `maintenance` from `{pool.id}`, and set it on the cluster",
        )


def without_sharing(pool: NodePool, provider: str) -> Iterator[IneffectiveSetting]:
    """Yield a fault if a pool shares GPUs, which its provider leaves to NVIDIA's device plugin."""
    if pool.sharing is not None:
        yield IneffectiveSetting(
            f"sets `sharing` to {pool.sharing.kind}, which {provider} node pools do not support",
            f"remove `sharing` from `{pool.id}`, and configure it in NVIDIA's device plugin",
        )


def without_zones(pool: NodePool, what: str) -> Iterator[IneffectiveSetting]:
    """Yield a fault if a pool names zones, which its provider determines from other settings."""
    if pool.zones:
        yield IneffectiveSetting(
            f"sets `zones` to {', '.join(pool.zones)}, but its {what} determine the zones",
            f"remove `zones` from `{pool.id}`, and use {what} in these zones",
        )


def without_machine_type(pool: NodePool, otherwise: str) -> Iterator[IneffectiveSetting]:
    """Yield a fault if a pool has no machine type."""
    if pool.machine_type is None:
        yield IneffectiveSetting(f"does not set `machine_type`, {otherwise}", "set `machine_type`")


def field_list(names: Sequence[str]) -> str:
    """Return fields as a list in a sentence: `labels`, `taints` and `sharing`, each in backticks."""
    *first, last = (f"`{name}`" for name in names)
    return f"{', '.join(first)} and {last}" if first else last
