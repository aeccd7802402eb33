"""`gcloud` commands that create or update each node pool.

`gcloud container node-pools update` accepts one group of settings at a time, so there is a command for each. Settings
that are immutable after creation are not updated. Flags: cloud.google.com/sdk/gcloud/reference/container/node-pools.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from apportion_compiler.backends.capability import Artifact
from apportion_compiler.backends.generated import GENERATED
from apportion_compiler.backends.nodepools.gke import (
    FOLDER,
    GkePool,
    affinity_of,
    initial_nodes,
    is_queued,
    made_on_request,
    maintenance_exclusions,
    maintenance_window,
    management_on_request,
    own_taints,
    run_seconds,
)
from apportion_compiler.backends.nodepools.gke_limits import auto_provisioning_limits
from apportion_compiler.backends.nodepools.shell import Variable, Word, flag, script, switch
from apportion_compiler.backends.pool_labels import gke_accelerator, is_made_on_request, set_labels
from apportion_compiler.ir.program import NodePool, Program, Taint
from apportion_compiler.kubernetes_names import gke_name
from apportion_policy.pool import MaintenanceExclusion, Mig, Mps, TimeSlicing
from apportion_policy.providers import Gke

_WHERE: tuple[Word, ...] = (
    ("--cluster=", Variable("CLUSTER")),
    ("--location=", Variable("LOCATION")),
    ("--project=", Variable("PROJECT")),
)
_NEEDED = {"LOCATION": "the region or zone of the cluster", "PROJECT": "the project of the cluster"}


def gke_script(program: Program, pools: Sequence[GkePool]) -> Artifact:
    """Return the script that creates and updates the pools of a cluster."""
    notes = (
        "Create or update the node pools of a cluster to match the policy. Usage: sh apply.sh",
        (
            "A pool's machine type, accelerators, spot setting, reservation affinity and placement cannot be changed "
            "after creation and are not updated."
        ),
        GENERATED,
    )
    text = script(
        "gke.sh.j2",
        notes=notes,
        needed=_NEEDED,
        defaults={"CLUSTER": program.cluster},
        where=list(_WHERE),
        cluster=("", Variable("CLUSTER")),
        pools=[_pool(program, pool, settings) for pool, settings in pools if not is_made_on_request(pool)],
        requested=[pool.id for pool, _ in made_on_request(pools)],
        auto_provisioning=_auto_provisioning(pools),
        window=_window(pools),
        exclusions=[_exclusion(each) for each in maintenance_exclusions(pools)],
    )
    return Artifact(f"{FOLDER}/apply.sh", text)


def _pool(program: Program, pool: NodePool, settings: Gke) -> Mapping[str, object]:
    queued = is_queued(program, pool)
    return {
        "id": pool.id,
        "name": gke_name(pool.id),
        "updates": [list(flags) for flags in _updates(program, pool, settings)],
        "is_queued": queued,
        "is_beta": queued or settings.flex_start,
        "creation": list(_creation(program, pool, settings)),
    }


def _creation(program: Program, pool: NodePool, settings: Gke) -> Iterator[str]:
    queued = is_queued(program, pool)
    if queued:
        yield "--enable-queued-provisioning"
    accelerator = gke_accelerator(pool)
    if accelerator is not None:
        yield flag("accelerator", _accelerator(pool, accelerator, settings))
    if pool.machine_type is not None:
        yield flag("machine-type", pool.machine_type)
    yield flag("num-nodes", initial_nodes(pool, settings, queued=queued))
    yield from _autoscaling(pool, settings)
    if pool.zones:
        yield flag("node-locations", ",".join(pool.zones))
    yield from _management(settings)
    yield from _reservation(pool, settings)
    yield flag("node-labels", _labels(program, pool))
    if pool.taints:
        yield flag("node-taints", _taints(pool.taints))
    if pool.spot:
        yield "--spot"
    if settings.flex_start:
        yield "--flex-start"
        seconds = run_seconds(program, pool, settings)
        if seconds is not None:
            yield flag("max-run-duration", f"{seconds}s")
    if settings.compact_placement:
        yield flag("placement-type", "COMPACT")
    if settings.gvnic:
        yield "--enable-gvnic"


def _updates(program: Program, pool: NodePool, settings: Gke) -> Iterator[tuple[str, ...]]:
    yield tuple(_management(settings))
    if settings.autoscaling:
        yield tuple(_autoscaling(pool, settings))
    if pool.zones:
        yield (flag("node-locations", ",".join(pool.zones)),)
    yield (flag("node-labels", _labels(program, pool)),)
    # An update replaces all taints, and would remove GKE's own taint of queued provisioning.
    if pool.taints and not is_queued(program, pool):
        yield (flag("node-taints", _taints(own_taints(program, pool))),)


def _autoscaling(pool: NodePool, settings: Gke) -> Iterator[str]:
    if settings.autoscaling:
        yield "--enable-autoscaling"
        yield flag("total-min-nodes", pool.min_nodes)
        yield flag("total-max-nodes", pool.max_nodes)
        yield flag("location-policy", settings.location_policy)


def _management(settings: Gke) -> Iterator[str]:
    yield switch("autorepair", on=settings.auto_repair)
    yield switch("autoupgrade", on=settings.auto_upgrade)


def _reservation(pool: NodePool, settings: Gke) -> Iterator[str]:
    affinity = affinity_of(pool, settings)
    yield flag("reservation-affinity", affinity)
    if affinity == "specific" and pool.reservation is not None:
        yield flag("reservation", pool.reservation)


def _labels(program: Program, pool: NodePool) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(set_labels(program, pool).items()))


def _taints(taints: Iterable[Taint]) -> str:
    return ",".join(f"{taint.key}={taint.value or ''}:{taint.effect}" for taint in taints)


def _accelerator(pool: NodePool, name: str, settings: Gke) -> str:
    parts = [f"type={name}", f"count={pool.n_gpus}", f"gpu-driver-version={settings.driver_version}"]
    match pool.sharing:
        case TimeSlicing(clients=clients):
            parts += ["gpu-sharing-strategy=time-sharing", f"max-shared-clients-per-gpu={clients}"]
        case Mps(clients=clients):
            parts += ["gpu-sharing-strategy=mps", f"max-shared-clients-per-gpu={clients}"]
        case Mig(profile=profile):
            parts.append(f"gpu-partition-size={profile}")
        case None:
            pass
    return ",".join(parts)


def _auto_provisioning(pools: Sequence[GkePool]) -> list[str]:
    requested = made_on_request(pools)
    if not requested:
        return []
    limits = dict(auto_provisioning_limits([pool for pool, _ in pools]))
    flags = ["--enable-autoprovisioning"]
    flags += [flag(f"max-{name}", limits.pop(name)) for name in ("cpu", "memory") if name in limits]
    flags += [flag("max-accelerator", f"type={name},count={count}") for name, count in limits.items()]
    management = management_on_request(requested)
    flags.append(switch("autoprovisioning-autoupgrade", on=management["auto_upgrade"]))
    flags.append(switch("autoprovisioning-autorepair", on=management["auto_repair"]))
    zones = sorted({zone for pool, _ in requested for zone in pool.zones})
    return [*flags, flag("autoprovisioning-locations", ",".join(zones))] if zones else flags


def _window(pools: Sequence[GkePool]) -> list[str]:
    window = maintenance_window(pools)
    if window is None:
        return []
    times = {"start": window.start, "end": window.end, "recurrence": window.recurrence}
    return [flag(f"maintenance-window-{name}", value) for name, value in times.items()]


def _exclusion(exclusion: MaintenanceExclusion) -> Mapping[str, object]:
    scope = exclusion.scope.replace("-", "_")
    fields = {"name": exclusion.name, "start": exclusion.start, "end": exclusion.end, "scope": scope}
    return {
        "added": [flag(f"add-maintenance-exclusion-{name}", value) for name, value in fields.items()],
        "removed": flag("remove-maintenance-exclusion", exclusion.name),
    }
