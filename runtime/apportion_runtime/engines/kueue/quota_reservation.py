"""Reservation of quota for a workload, its admission once its checks are ready, and the quota of completed pods.

Source: kubernetes-sigs/kueue v0.18.3, pkg/scheduler/scheduler.go (admit), pkg/workload/workload.go,
pkg/controller/jobframework/reconciler.go (startJob, stopJob, ReclaimablePods).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from apportion_runtime.admission.expansion.suspension import with_suspended
from apportion_runtime.engines.kueue.pod_sets import Path, resized, updated, with_templates
from apportion_runtime.engines.kueue.provisioning_requests import flavor_update
from apportion_runtime.engines.kueue.records import Holder, PodSet
from apportion_runtime.engines.kueue.scheduling_cycle import Entry
from apportion_runtime.engines.kueue.workload_state import Phase, WorkloadState, set_status
from apportion_runtime.sim.scenario.format import Manifest

if TYPE_CHECKING:
    from apportion_runtime.engines.kueue.engine import Kueue


def reserve_quota(engine: Kueue, unit: WorkloadState, entry: Entry) -> None:
    """Reserve the quota that a cycle assigned; the workload is admitted when its checks are ready."""
    cluster_state, assignment = engine.cluster_state, entry.assignment
    unit.phase, unit.flavors, unit.message = Phase.RESERVED, assignment.flavors, ""
    # The assignment may be that of another workload of its shape.
    unit.assigned = tuple(own.of(given.count) for own, given in zip(unit.pod_sets, assignment.pod_sets, strict=True))
    unit.holder = Holder(
        unit.key,
        unit.queue,
        assignment.usage,
        unit.uid,
        unit.priority,
        unit.ordered_at,
        reserved_at=cluster_state.now,
    )
    engine.samples.changed(unit)
    engine.holders.put(unit.holder)
    engine.pending.remove(unit.queue, unit.key)
    given = sorted({flavor for of in unit.flavors.values() for flavor in of.values()})
    queue = engine.configured.rules.queues[unit.queue]
    unit.checks = tuple(
        check.name for check in queue.checks if not check.flavors or not set(given).isdisjoint(check.flavors)
    )
    unit.ready = {}
    message = f"Quota reserved in ClusterQueue {unit.queue}"
    fewer = [f"{got.count} of {all_.count} pods" for got, all_ in _pairs(unit) if got.count < all_.count]
    cluster_state.note(
        "reserved", workload=unit.number, why=", ".join((message, f"flavors {', '.join(given)}", *fewer))
    )
    set_status(
        cluster_state.store, unit, cluster_state.clock.text,
        (("QuotaReserved", True, "QuotaReserved", message), ("Evicted", False, "QuotaReserved", message)),
        admission={
            "clusterQueue": unit.queue,
            "podSetAssignments": [
                {"name": each.name, "count": each.count, "flavors": dict(unit.flavors.get(each.name, {}))}
                for each in unit.assigned
            ],
        },
    )  # fmt: skip
    for check in unit.checks:
        engine.provisioner.ask(unit, check)
    admit_if_ready(engine, unit)


def admit_if_ready(engine: Kueue, unit: WorkloadState) -> None:
    """Start the job of a workload whose checks are all ready."""
    if unit.phase is not Phase.RESERVED or any(check not in unit.ready for check in unit.checks):
        return
    cluster_state = engine.cluster_state
    unit.phase, unit.n_releases = Phase.ADMITTED, unit.n_releases + 1
    engine.has_changed = True
    message = f"Admitted by ClusterQueue {unit.queue}"
    cluster_state.note("admitted", workload=unit.number, why=message)
    set_status(cluster_state.store, unit, cluster_state.clock.text, (("Admitted", True, "Admitted", message),))
    cluster_state.history.workloads[unit.number].end_waiting()
    if unit.pods:
        engine.pod_workloads.release(
            unit, {place.name: _released(engine, unit, place.name, place.template) for place in unit.pod_set_templates}
        )
    else:
        _start_job(engine, unit)
    engine.deadlines.begin(unit)


def _start_job(engine: Kueue, unit: WorkloadState) -> None:
    manifest = engine.workloads.running[unit.number].manifest
    templates: dict[Path, Any] = {
        place.path: _released(engine, unit, place.name, unit.originals[place.path])
        for place in unit.pod_set_templates
        if place.path
    }
    if any(got.count < all_.count for got, all_ in _pairs(unit)):
        templates |= resized(manifest, unit.assigned[0].count)
    engine.change_job(unit, with_suspended(with_templates(manifest, templates), suspended=False))


def stop_job(engine: Kueue, unit: WorkloadState) -> None:
    """Suspend a job again, with its original templates."""
    manifest = engine.workloads.running[unit.number].manifest
    engine.change_job(unit, with_suspended(with_templates(manifest, unit.originals), suspended=True))


def _released(engine: Kueue, unit: WorkloadState, name: str, template: Manifest) -> Manifest:
    made = updated(template, flavor_update(engine.configured.rules.flavors, unit.flavors.get(name, {})))
    for check in unit.checks:
        update = unit.ready[check].get(name)
        made = made if update is None else updated(made, update)
    return made


def reclaim_completed(engine: Kueue, unit: WorkloadState) -> None:
    """Reclaim the quota of pods that a Job no longer needs, when fewer completions remain than its parallelism."""
    running = engine.workloads.running[unit.number]
    if running.manifest["kind"] != "Job" or unit.holder is None or len(unit.pod_sets) != 1:
        return
    full = unit.assigned[0]
    count = min(full.count, len(running.slots) - len(running.done))
    if not 0 < count < full.count:
        return
    flavors = unit.flavors[full.name]
    usage = {(flavors[name], name): total for name, total in full.of(count).requests.items() if name in flavors}
    unit.holder = replace(unit.holder, usage=usage)
    engine.samples.changed(unit)
    engine.holders.put(unit.holder)
    engine.queue_inadmissible(unit.queue)


def _pairs(unit: WorkloadState) -> Iterator[tuple[PodSet, PodSet]]:
    """Yield the assigned pod sets of a workload, each with the original one."""
    return zip(unit.assigned, unit.pod_sets, strict=True)
