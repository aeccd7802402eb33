"""Settings of node pools that GKE, ACK and EKS do not support or reject.

Source: cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters.nodePools and
/docs/how-to/{consuming-reservations,flex-start-gpu-training}; alibabacloud.com, ACK CreateClusterNodePool;
docs.aws.amazon.com/eks, CreateNodegroup and capacity-blocks-mng.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.counted_nouns import counted
from apportion_compiler.checks.pool_settings import (
    IneffectiveSetting,
    without_machine_type,
    without_maintenance,
    without_sharing,
    without_zones,
)
from apportion_compiler.machine_types import gke_machine
from apportion_policy.pool import NodePool
from apportion_policy.providers import Ack, Eks, Gke


def gke_faults(pool: NodePool, settings: Gke, *, queued: bool) -> Iterator[IneffectiveSetting]:
    """Yield the faults of a pool on GKE; AP610 reports those of queued provisioning."""
    if settings.node_auto_provisioning:
        yield from _made_on_request(pool, queued=queued)
    else:
        yield from without_machine_type(pool, "so GKE uses e2-medium")
    known = None if pool.machine_type is None else gke_machine(pool.machine_type)
    if pool.accelerator is not None and pool.accelerator.provider_name is None and known is None:
        yield IneffectiveSetting(
            "has no `provider_name` for its GPUs, so its machines get none",
            "set provider_name in its accelerator, such as nvidia-h100-80gb",
        )
    yield from _reservations(pool, settings, queued=queued)
    yield from _fixed_size(pool, settings)
    if not queued and settings.release_channel != "none" and not settings.auto_upgrade:
        yield IneffectiveSetting(
            f"disables automatic upgrades, which GKE rejects in release channel {settings.release_channel}",
            "set auto_upgrade to true and add a maintenance exclusion, or leave the release channel",
        )
    if settings.flex_start and (pool.spot or pool.reservation is not None or not settings.autoscaling):
        yield IneffectiveSetting(
            "uses flex-start, which GKE rejects with spot machines, with a reservation or without autoscaling",
            f"set flex_start of `{pool.id}` to false, or remove the conflicting settings",
        )
    if settings.compact_placement and len(pool.zones) > 1:
        yield IneffectiveSetting(f"requests compact placement in {len(pool.zones)} zones", "list one zone")


def ack_faults(pool: NodePool, settings: Ack) -> Iterator[IneffectiveSetting]:
    """Yield the faults of a pool on ACK."""
    yield from without_machine_type(pool, "but ACK requires one")
    yield from without_maintenance(pool, "ack")
    yield from without_sharing(pool, "ack")
    yield from without_zones(pool, "vSwitches")
    if settings.spot_strategy != "NoSpot" and not pool.spot:
        yield IneffectiveSetting(
            f"requests spot machines ({settings.spot_strategy}) but `spot` is false",
            f"set spot of `{pool.id}` to true, or its spot_strategy to NoSpot",
        )
    if settings.pool_type == "lingjun" and (pool.spot or settings.deployment_set is not None):
        yield IneffectiveSetting(
            "has Lingjun machines, which support neither spot nor deployment sets", "remove these settings"
        )


def eks_faults(pool: NodePool, settings: Eks) -> Iterator[IneffectiveSetting]:
    """Yield the faults of a pool on EKS."""
    yield from without_machine_type(pool, "so EKS uses t3.medium")
    yield from without_maintenance(pool, "eks")
    yield from without_sharing(pool, "eks")
    yield from without_zones(pool, "subnets")
    if settings.managed and pool.max_nodes == 0:
        yield IneffectiveSetting(
            "has a max_nodes of 0, but a managed node group requires at least 1", "set max_nodes to 1"
        )
    if settings.capacity_block and pool.reservation is None:
        yield IneffectiveSetting(
            "uses a capacity block but does not specify its id", f"set the block's id as the reservation of `{pool.id}`"
        )
    if settings.capacity_block and pool.spot:
        yield IneffectiveSetting("combines a capacity block with spot machines", f"set spot of `{pool.id}` to false")
    if not settings.managed and (
        settings.node_repair or settings.ami_type is not None or settings.node_role is not None
    ):
        yield IneffectiveSetting(
            "is self-scaled, but node_repair, ami_type and node_role are settings of a managed group",
            "remove them, and set the image and role in the launch template",
        )


def _made_on_request(pool: NodePool, *, queued: bool) -> Iterator[IneffectiveSetting]:
    named = [name for name in ("labels", "taints", "sharing") if getattr(pool, name)]
    if named:
        yield IneffectiveSetting(
            f"has {' and '.join(named)}, but GKE applies none of these to pools that it creates for a request",
            f"remove them, or create the pool in advance and set node_auto_provisioning of `{pool.id}` to false",
        )
    if not queued:
        yield IneffectiveSetting(
            "uses node auto-provisioning without a provisioning plan",
            f"set `provisioning` of `{pool.id}`, or set node_auto_provisioning to false",
        )


def _reservations(pool: NodePool, settings: Gke, *, queued: bool) -> Iterator[IneffectiveSetting]:
    if queued:
        return
    if settings.reservation_affinity == "specific" and pool.reservation is None:
        yield IneffectiveSetting(
            "uses a specific reservation but does not specify its name", f"set the reservation of `{pool.id}`"
        )
    if settings.reservation_affinity == "none" and pool.reservation is not None:
        yield IneffectiveSetting(
            f"sets the reservation {pool.reservation} but does not use it",
            'set reservation_affinity="specific" on its provider, or remove the reservation',
        )


def _fixed_size(pool: NodePool, settings: Gke) -> Iterator[IneffectiveSetting]:
    if settings.autoscaling:
        return
    if pool.min_nodes != pool.max_nodes:
        yield IneffectiveSetting(
            f"does not autoscale, so it stays at {pool.max_nodes} nodes instead of between {pool.min_nodes} and "
            f"{pool.max_nodes}",
            f"set min_nodes={pool.max_nodes}, or enable autoscaling",
        )
    if not pool.zones:
        yield IneffectiveSetting(
            "does not autoscale and lists no zones, but GKE counts nodes per zone",
            f"list the zones of `{pool.id}`",
        )
    elif pool.max_nodes % len(pool.zones):
        yield IneffectiveSetting(
            f"has {counted(pool.max_nodes, 'node')} in {counted(len(pool.zones), 'zone')}, but GKE counts nodes per zone and creates that many in each",
            f"use {pool.max_nodes - pool.max_nodes % len(pool.zones)} nodes, or list fewer zones",
        )
