"""GKE: `gcp:container/nodePool:NodePool` for each pool, and the cluster settings that the pools require.

Fields: pulumi-gcp 10.2.0, container/_inputs.py. Node limits are totals over all zones, as in the policy; GKE allows
either totals or per-zone limits. GKE itself adds the taint `cloud.google.com/gke-queued` on pools of queued
provisioning, and `nvidia.com/gpu` on GPU pools of a cluster with other pools; neither is declared.

https://cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_compiler.backends.nodepools.document import Document
from apportion_compiler.backends.nodepools.gke_limits import auto_provisioning_limits
from apportion_compiler.backends.nodepools.names import CLOUD_EFFECTS
from apportion_compiler.backends.pool_labels import gke_accelerator, is_made_on_request, set_labels
from apportion_compiler.ir.program import NodePool, Program, ProvisioningPlan, Taint
from apportion_compiler.kubernetes_names import gke_name
from apportion_policy.pool import GPU_TAINT, Maintenance, MaintenanceExclusion, MaintenanceWindow, Mig, Mps, TimeSlicing
from apportion_policy.providers import Gke
from apportion_policy.provisioning import QUEUED_PROVISIONING_GKE

FOLDER = "gke"
POOL_TYPE = "gcp:container/nodePool:NodePool"
CLUSTER_TYPE = "gcp:container/cluster:Cluster"

_AFFINITY = {"none": "NO_RESERVATION", "any": "ANY_RESERVATION", "specific": "SPECIFIC_RESERVATION"}
_RESERVATION_KEY = "compute.googleapis.com/reservation-name"
_DRIVER = {"default": "DEFAULT", "latest": "LATEST", "disabled": "INSTALLATION_DISABLED"}
_FIXED_AT_CREATION = (
    "A pool's machine type, accelerators, spot setting, reservation affinity and placement cannot be changed after "
    "creation: to change one of them, declare a pool with a new id and move the workloads."
)

GkePool = tuple[NodePool, Gke]


def documents(program: Program, pools: Sequence[GkePool]) -> Iterator[Document]:
    """Yield the document of each pool, then the cluster's, if the pools require cluster settings.

    Pools that GKE creates on request have none.
    """
    for pool, settings in pools:
        if not is_made_on_request(pool):
            yield _pool(program, pool, settings)
    yield from _cluster(pools)


def is_queued(program: Program, pool: NodePool) -> bool:
    """Return whether GKE's Dynamic Workload Scheduler provisions the pool for whole workloads."""
    plan = _plan(program, pool)
    return plan is not None and plan.provisioning_class == QUEUED_PROVISIONING_GKE


def affinity_of(pool: NodePool, settings: Gke) -> str:
    """Return the reservation affinity in the policy's terms; naming a reservation implies `specific`."""
    return (
        "specific"
        if pool.reservation is not None and settings.reservation_affinity == "any"
        else (settings.reservation_affinity)
    )


def initial_nodes(pool: NodePool, settings: Gke, *, queued: bool) -> int:
    """Return the initial number of nodes in each zone of a pool.

    Without zones in the policy, the cluster determines their number: the pool starts empty and scales up.
    """
    if not settings.autoscaling:
        return pool.max_nodes // max(len(pool.zones), 1)
    if queued or settings.flex_start or not pool.zones:
        return 0
    n_zones = len(pool.zones)
    return min(-(-pool.min_nodes // n_zones), pool.max_nodes // n_zones)


def run_seconds(program: Program, pool: NodePool, settings: Gke) -> int | None:
    """Return the maximum lifetime of a flex-start node in seconds; queued requests specify it themselves."""
    plan = _plan(program, pool)
    return plan.max_run_duration if plan is not None and settings.flex_start else None


def maintenance_window(pools: Sequence[GkePool]) -> MaintenanceWindow | None:
    """Return the only maintenance window of the cluster: that of the first pool that has one."""
    return next((m.window for m in _maintenances(pools) if m.window is not None), None)


def maintenance_exclusions(pools: Sequence[GkePool]) -> tuple[MaintenanceExclusion, ...]:
    """Return the maintenance exclusions of the cluster: those of all pools, one for each name."""
    named: dict[str, MaintenanceExclusion] = {}
    for maintenance in _maintenances(pools):
        for exclusion in maintenance.exclusions:
            named.setdefault(exclusion.name, exclusion)
    return tuple(named[name] for name in sorted(named))


def made_on_request(pools: Sequence[GkePool]) -> tuple[GkePool, ...]:
    """Return the pools that node auto-provisioning creates."""
    return tuple(member for member in pools if is_made_on_request(member[0]))


def own_taints(program: Program, pool: NodePool) -> tuple[Taint, ...]:
    """Return the taints of a pool, including GKE's own for GPUs, because an update replaces all of them."""
    has_ordinary = any(not other.n_gpus for other in program.pools)
    declared = {taint.key for taint in pool.taints}
    if not pool.n_gpus or not has_ordinary or GPU_TAINT.key in declared:
        return pool.taints
    return (*pool.taints, Taint(GPU_TAINT.key, GPU_TAINT.value, GPU_TAINT.effect.value))


def _pool(program: Program, pool: NodePool, settings: Gke) -> Document:
    queued = is_queued(program, pool)
    args: dict[str, object] = {"name": gke_name(pool.id)}
    if settings.autoscaling:
        args["initial_node_count"] = initial_nodes(pool, settings, queued=queued)
        args["autoscaling"] = {
            "total_min_node_count": pool.min_nodes,
            "total_max_node_count": pool.max_nodes,
            "location_policy": settings.location_policy,
        }
    else:
        args["node_count"] = initial_nodes(pool, settings, queued=queued)
    if pool.zones:
        args["node_locations"] = list(pool.zones)
    args["management"] = {"auto_repair": settings.auto_repair, "auto_upgrade": settings.auto_upgrade}
    if queued:
        args["queued_provisioning"] = {"enabled": True}
    if settings.compact_placement:
        args["placement_policy"] = {"type": "COMPACT"}
    args["node_config"] = _node_config(program, pool, settings)
    return Document(
        folder=FOLDER,
        name=gke_name(pool.id),
        type=POOL_TYPE,
        args=args,
        ignore_changes=("initial_node_count", "node_count") if settings.autoscaling else (),
        supply=("cluster", "location", "project"),
        notes=(_FIXED_AT_CREATION,),
    )


def _node_config(program: Program, pool: NodePool, settings: Gke) -> dict[str, object]:
    config: dict[str, object] = {}
    if pool.machine_type is not None:
        config["machine_type"] = pool.machine_type
    accelerator = gke_accelerator(pool)
    if accelerator is not None:
        config["guest_accelerators"] = [_accelerator(pool, accelerator, settings)]
    config["labels"] = dict(set_labels(program, pool))
    if pool.taints:
        config["taints"] = [
            {"key": taint.key, "value": taint.value or "", "effect": CLOUD_EFFECTS[taint.effect]}
            for taint in pool.taints
        ]
    if pool.spot:
        config["spot"] = True
    if settings.flex_start:
        config["flex_start"] = True
        seconds = run_seconds(program, pool, settings)
        if seconds is not None:
            config["max_run_duration"] = f"{seconds}s"
    affinity = affinity_of(pool, settings)
    config["reservation_affinity"] = {"consume_reservation_type": _AFFINITY[affinity]}
    if affinity == "specific" and pool.reservation is not None:
        config["reservation_affinity"] = {
            "consume_reservation_type": _AFFINITY[affinity],
            "key": _RESERVATION_KEY,
            "values": [pool.reservation],
        }
    if settings.gvnic:
        config["gvnic"] = {"enabled": True}
    return config


def _accelerator(pool: NodePool, name: str, settings: Gke) -> dict[str, object]:
    accelerator: dict[str, object] = {
        "type": name,
        "count": pool.n_gpus,
        "gpu_driver_installation_config": {"gpu_driver_version": _DRIVER[settings.driver_version]},
    }
    match pool.sharing:
        case TimeSlicing(clients=clients):
            accelerator["gpu_sharing_config"] = _sharing("TIME_SHARING", clients)
        case Mps(clients=clients):
            accelerator["gpu_sharing_config"] = _sharing("MPS", clients)
        case Mig(profile=profile):
            accelerator["gpu_partition_size"] = profile
        case None:
            pass
    return accelerator


def _sharing(strategy: str, clients: int) -> dict[str, object]:
    return {"gpu_sharing_strategy": strategy, "max_shared_clients_per_gpu": clients}


def _cluster(pools: Sequence[GkePool]) -> Iterator[Document]:
    args: dict[str, object] = {}
    policy = _maintenance_policy(pools)
    if policy:
        args["maintenance_policy"] = policy
    requested = made_on_request(pools)
    if requested:
        limits = auto_provisioning_limits([pool for pool, _ in pools])
        autoscaling: dict[str, object] = {
            "enabled": True,
            "resource_limits": [{"resource_type": name, "maximum": amount} for name, amount in limits.items()],
            "auto_provisioning_defaults": {"management": management_on_request(requested)},
        }
        zones = sorted({zone for pool, _ in requested for zone in pool.zones})
        if zones:
            autoscaling["auto_provisioning_locations"] = zones
        args["cluster_autoscaling"] = autoscaling
    if args:
        yield Document(
            folder=FOLDER,
            name="_cluster",
            type=CLUSTER_TYPE,
            args=args,
            supply=("name", "location", "project"),
            notes=("Arguments for the cluster resource, which is declared elsewhere.",),
        )


def management_on_request(requested: Sequence[GkePool]) -> dict[str, bool]:
    """Return repair and upgrade settings of the pools that GKE creates: off if any of them has it off."""
    return {
        "auto_repair": all(settings.auto_repair for _, settings in requested),
        "auto_upgrade": all(settings.auto_upgrade for _, settings in requested),
    }


def _maintenance_policy(pools: Sequence[GkePool]) -> Mapping[str, object]:
    policy: dict[str, object] = {}
    window, exclusions = maintenance_window(pools), maintenance_exclusions(pools)
    if window is not None:
        policy["recurring_window"] = {
            "start_time": window.start,
            "end_time": window.end,
            "recurrence": window.recurrence,
        }
    if exclusions:
        policy["maintenance_exclusions"] = [
            {
                "exclusion_name": exclusion.name,
                "start_time": exclusion.start,
                "end_time": exclusion.end,
                "exclusion_options": {"scope": exclusion.scope.replace("-", "_").upper()},
            }
            for exclusion in exclusions
        ]
    return policy


def _maintenances(pools: Sequence[GkePool]) -> Iterator[Maintenance]:
    return (pool.maintenance for pool, _ in pools if pool.maintenance is not None)


def _plan(program: Program, pool: NodePool) -> ProvisioningPlan | None:
    return next((plan for plan in program.plans if plan.id == pool.plan), None)
