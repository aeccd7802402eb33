"""Unsupported settings of node pools, and those that several providers do not support."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from apportion_policy.pool import NodePool


@dataclass(frozen=True, slots=True)
class IneffectiveSetting:
    """A setting that does not take effect, or for which the provider refuses the pool.

    `message` goes on from the pool's id.
    """

    message: str
    hint: str


def without_maintenance(pool: NodePool, provider: str) -> Iterator[IneffectiveSetting]:
    """Yield a fault where a pool has maintenance times and its provider has no field for them."""
    if pool.maintenance is not None:
        yield IneffectiveSetting(
            f"sets `maintenance`, which pools of {provider} do not support",
            f"remove `maintenance` from `{pool.id}`, and set it on the cluster",
        )


def without_sharing(pool: NodePool, provider: str) -> Iterator[IneffectiveSetting]:
    """Yield a fault where a pool shares GPUs and its provider leaves that to NVIDIA's device plugin."""
    if pool.sharing is not None:
        yield IneffectiveSetting(
            f"shares GPUs by {pool.sharing.kind}, which node pools of {provider} cannot configure",
            "configure it in NVIDIA's device plugin instead",
        )


def without_zones(pool: NodePool, what: str) -> Iterator[IneffectiveSetting]:
    """Yield a fault where a pool names zones and its provider decides by something else."""
    if pool.zones:
        yield IneffectiveSetting(
            f"lists the zones {', '.join(pool.zones)}, but its {what} determine the location of its machines",
            f"remove `zones` from `{pool.id}`, and use {what} in these zones",
        )


def without_machine_type(pool: NodePool, otherwise: str) -> Iterator[IneffectiveSetting]:
    """Yield a fault where a pool names no machine type."""
    if pool.machine_type is None:
        yield IneffectiveSetting(f"has no machine type, {otherwise}", f"set the machine_type of `{pool.id}`")
