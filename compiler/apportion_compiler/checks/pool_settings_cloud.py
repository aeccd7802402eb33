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
    field_list,
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
            "does not set the accelerator's `provider_name`, so its machines are created without GPUs",
            "set the accelerator's `provider_name`, for example to nvidia-h100-80gb",
        )
    yield from _reservations(pool, settings, queued=queued)
    yield from _fixed_size(pool, settings)
    if not queued and settings.release_channel != "none" and not settings.auto_upgrade:
        yield IneffectiveSetting(
            f"disables automatic upgrades, which GKE rejects in the {settings.release_channel} release channel",
            'set `auto_upgrade` to true and add a maintenance exclusion, or set `release_channel` to "none"',
        )
    if settings.flex_start and (pool.spot or pool.reservation is not None or not settings.autoscaling):
        yield IneffectiveSetting(
            "uses flex-start, which GKE rejects for pools with spot machines, with a reservation or without autoscaling",
            "set `flex_start` to false, or remove the conflicting settings",
        )
    if settings.compact_placement and len(pool.zones) > 1:
        yield IneffectiveSetting(
            f"sets `compact_placement`, which requires a single zone, but lists {len(pool.zones)} zones",
            "list one zone in `zones`",
        )


def ack_faults(pool: NodePool, settings: Ack) -> Iterator[IneffectiveSetting]:
    """Yield the faults of a pool on ACK."""
    yield from without_machine_type(pool, "but ACK requires it")
    yield from without_maintenance(pool, "ACK")
    yield from without_sharing(pool, "ACK")
    yield from without_zones(pool, "vSwitches")
    if settings.spot_strategy != "NoSpot" and not pool.spot:
        yield IneffectiveSetting(
            f"sets `spot_strategy` to {settings.spot_strategy}, but `spot` is false",
            "set `spot` to true, or `spot_strategy` to NoSpot",
        )
    if settings.pool_type == "lingjun" and (pool.spot or settings.deployment_set is not None):
        named = [name for name in ("spot", "deployment_set") if getattr(pool if name == "spot" else settings, name)]
        yield IneffectiveSetting(
            "has Lingjun nodes, which support neither spot instances nor deployment sets",
            f"remove {field_list(named)}",
        )


def eks_faults(pool: NodePool, settings: Eks) -> Iterator[IneffectiveSetting]:
    """Yield the faults of a pool on EKS."""
    yield from without_machine_type(pool, "so EKS uses t3.medium")
    yield from without_maintenance(pool, "EKS")
    yield from without_sharing(pool, "EKS")
    yield from without_zones(pool, "subnets")
    if settings.managed and pool.max_nodes == 0:
        yield IneffectiveSetting(
            "sets `max_nodes` to 0, but a managed node group requires at least 1", "set `max_nodes` to 1"
        )
    if settings.capacity_block and pool.reservation is None:
        yield IneffectiveSetting(
            "uses a capacity block but does not specify its id", "set `reservation` to the id of the capacity block"
        )
    if settings.capacity_block and pool.spot:
        yield IneffectiveSetting("combines a capacity block with spot machines", "set `spot` to false")
    managed_only = [name for name in ("node_repair", "ami_type", "node_role") if getattr(settings, name)]
    if not settings.managed and managed_only:
        yield IneffectiveSetting(
            f"sets {field_list(managed_only)}, but `managed` is false; only managed node groups have these settings",
            f"remove {field_list(managed_only)}, and set the image and role in the launch template",
        )


def _made_on_request(pool: NodePool, *, queued: bool) -> Iterator[IneffectiveSetting]:
    named = [name for name in ("labels", "taints", "sharing") if getattr(pool, name)]
    if named:
        yield IneffectiveSetting(
            f"sets {field_list(named)}, which GKE does not apply to auto-provisioned node pools",
            f"remove {field_list(named)}, or create the pool in advance and set `node_auto_provisioning` to false",
        )
    if not queued:
        yield IneffectiveSetting(
            "uses node auto-provisioning without a provisioning plan",
            "set `provisioning` to a plan, or `node_auto_provisioning` to false",
        )


def _reservations(pool: NodePool, settings: Gke, *, queued: bool) -> Iterator[IneffectiveSetting]:
    if queued:
        return
    if settings.reservation_affinity == "specific" and pool.reservation is None:
        yield IneffectiveSetting(
            'sets `reservation_affinity` to "specific" but does not set `reservation`',
            "set `reservation` to the reservation's name",
        )
    if settings.reservation_affinity == "none" and pool.reservation is not None:
        yield IneffectiveSetting(
            f'sets `reservation` to {pool.reservation}, but `reservation_affinity` is "none"',
            'set `reservation_affinity` to "specific", or remove `reservation`',
        )


def _fixed_size(pool: NodePool, settings: Gke) -> Iterator[IneffectiveSetting]:
    if settings.autoscaling:
        return
    if pool.min_nodes != pool.max_nodes:
        yield IneffectiveSetting(
            f"disables autoscaling, so it keeps {pool.max_nodes} nodes instead of scaling between {pool.min_nodes} "
            f"and {pool.max_nodes}",
            f"set `min_nodes` to {pool.max_nodes}, or `autoscaling` to true",
        )
    if not pool.zones:
        yield IneffectiveSetting(
            "disables autoscaling and lists no zones, but GKE sizes such pools per zone",
            "list the pool's zones in `zones`",
        )
    elif pool.max_nodes % len(pool.zones):
        yield IneffectiveSetting(
            f"has {counted(pool.max_nodes, 'node')} in {counted(len(pool.zones), 'zone')}, but GKE creates the same "
            "number of nodes in each zone",
            f"set `max_nodes` to {pool.max_nodes - pool.max_nodes % len(pool.zones)}, or list fewer zones",
        )
