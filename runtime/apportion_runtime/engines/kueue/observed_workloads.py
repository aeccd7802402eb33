"""Workloads of a snapshot: the quota that they hold or wait for, and the pods that belong to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from apportion_api.kueue.workloads import PodSetAssignment, Workload
from apportion_api.objects import is_a, read
from apportion_runtime.engines.kueue.object_reader import Configured
from apportion_runtime.engines.kueue.pod_sets import PodSetTemplate, originals_of, pod_set, shape
from apportion_runtime.engines.kueue.quota_tree import FlavorResource
from apportion_runtime.engines.kueue.records import Holder, Pending, PodSet
from apportion_runtime.engines.kueue.workload_state import Phase, WorkloadState
from apportion_runtime.sim.controllers.running_workload import Running
from apportion_runtime.sim.engine import UnreadableError
from apportion_runtime.sim.observed.workloads import ObservedWorkload, Owner, observed_workloads
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.pod_requests import amount
from apportion_runtime.snapshots.quantities import parse_time

if TYPE_CHECKING:
    from apportion_runtime.engines.kueue.engine import Kueue

_NONE = "Workload"


def observe(objects: Sequence[Manifest]) -> list[ObservedWorkload]:
    """Return the work of a snapshot: pods with the Workload that they belong to, and Workloads that have no pods.

    Finished and deactivated Workloads are left out.
    """
    by_pods = observed_workloads(objects)
    by_owner = {owner: number for number, each in enumerate(by_pods) for owner in each.owners}
    found: list[ObservedWorkload] = list(by_pods)
    for made in objects:
        if not is_a(Workload, made):
            continue
        workload = read(Workload, made)
        if workload.condition("Finished") is not None or workload.active is False:
            continue
        owners = [Owner(workload.namespace, each.name, each.kind) for each in workload.owners]
        number = next((by_owner[owner] for owner in owners if owner in by_owner), None)
        if number is not None and not found[number].record:
            found[number] = replace(found[number], record=made)
            continue
        owner = owners[0] if owners else Owner(workload.namespace, workload.name, _NONE)
        sets = [
            {"name": s.name, "count": 1 if s.count is None else s.count, "template": s.template}
            for s in workload.pod_sets
        ]
        found.append(ObservedWorkload(owner, frozenset(owners), pod_sets=tuple(sets), record=made))
    return found


def take_over(engine: Kueue, running: Running) -> None:
    """Charge the quota that a snapshot's workload has reserved, or queue the workload.

    Raises:
        UnreadableError: If its Workload cannot be read.
    """
    record: Manifest = running.manifest["spec"]["record"]
    if not record:
        return
    workload = read(Workload, record)
    if workload.faults:
        raise UnreadableError(f"{workload}: {workload.faults[0]}")
    try:
        unit = _unit(engine, running, workload)
    except ValueError as wrong:
        raise UnreadableError(f"{workload}: {wrong}") from None
    engine.adopt(unit)
    if unit.holder is None and not running.pods and running.is_suspended:
        engine.wait(unit)


def _unit(engine: Kueue, running: Running, workload: Workload) -> WorkloadState:
    configured = engine.configured
    sets, priority = pod_sets_of(workload, configured), workload.priority or 0
    admission = workload.admission
    holds = admission is not None and workload.condition("QuotaReserved") is not None
    is_waiting = running.is_suspended
    templates = [
        PodSetTemplate(
            each.name, each.count, ("spec", "podSets", number, "template") if is_waiting else (), each.template
        )
        for number, each in enumerate(sets)
    ]
    local = configured.local_queues.get((workload.namespace, workload.local_queue), "")
    waiting = pending_of(workload, local, configured)
    unit = WorkloadState(
        number=running.number,
        namespace=workload.namespace,
        name=workload.name,
        uid=workload.uid,
        local_queue=workload.local_queue,
        queue=local,
        priority=priority,
        created=_time(workload.created),
        ordered_at=waiting.ordered_at,
        pod_set_templates=templates,
        pod_sets=sets,
        shape=shape(sets, priority),
        originals=originals_of(running.manifest, templates),
        not_before=0.0 if workload.requeue_at is None else parse_time(workload.requeue_at),
    )
    if holds and admission is not None:
        unit.queue = admission.cluster_queue
        unit.phase = Phase.ADMITTED if workload.condition("Admitted") is not None else Phase.RESERVED
        unit.flavors = {each.name: dict(each.flavors) for each in admission.pod_sets}
        unit.assigned = tuple(_assigned(each, {s.name: s for s in sets}) for each in admission.pod_sets)
        unit.holder = holder_of(workload, configured)
    return unit


def _assigned(assignment: PodSetAssignment, sets: dict[str, PodSet]) -> PodSet:
    full = sets.get(assignment.name) or PodSet(assignment.name, assignment.count or 1, {}, {})
    return full if assignment.count is None else full.of(assignment.count)


def holder_of(workload: Workload, configured: Configured) -> Holder:
    """Return the quota reserved by a workload. Raises `ValueError` for an amount that cannot be read."""
    assert workload.admission is not None
    usage: dict[FlavorResource, int] = {}
    for assigned in workload.admission.pod_sets:
        for resource, quantity in _usage(workload, assigned, configured).items():
            if resource in assigned.flavors:
                fr = (assigned.flavors[resource], resource)
                usage[fr] = usage.get(fr, 0) + quantity
    reserved = workload.condition("QuotaReserved")
    return Holder(
        workload.key,
        workload.admission.cluster_queue,
        usage,
        workload.uid,
        workload.priority or 0,
        _time(workload.created),
        None if reserved is None or reserved.since is None else parse_time(reserved.since),
        evicted=workload.condition("Evicted") is not None,
    )


def _usage(workload: Workload, assigned: PodSetAssignment, configured: Configured) -> dict[str, int]:
    """Return the count of a pod set: lower than assigned once pods that are not replaced have ended."""
    ended = sum(each.count or 0 for each in workload.reclaimable if each.name == assigned.name)
    sets = {each.name: each for each in pod_sets_of(workload, configured)}
    full = sets.get(assigned.name)
    count = assigned.count if assigned.count is not None else (1 if full is None else full.count)
    if assigned.usage:
        total: dict[str, Any] = {name: amount(name, written) for name, written in assigned.usage.items()}
    else:
        total = {} if full is None else dict(full.of(count).requests)
    if not ended or not count:
        return total
    return {name: quantity * max(0, count - ended) // count for name, quantity in total.items()}


def pod_sets_of(workload: Workload, configured: Configured) -> tuple[PodSet, ...]:
    """Return the pod sets of a workload. Raises `ValueError` for an amount that cannot be read."""
    places = [
        PodSetTemplate(each.name, 1 if each.count is None else each.count, (), each.template, each.least)
        for each in workload.pod_sets
    ]
    return tuple(pod_set(place, configured.settings.counting) for place in places)


def pending_of(workload: Workload, queue: str, configured: Configured) -> Pending:
    """Return a workload as one that waits in a ClusterQueue."""
    sets, priority = pod_sets_of(workload, configured), workload.priority or 0
    waiting = Pending(
        workload.key, queue, workload.namespace, sets, workload.uid, priority, _time(workload.created),
        shape=shape(sets, priority),
    )  # fmt: skip
    evicted = workload.condition("Evicted")
    ready = configured.settings.pods_ready
    was_late = evicted is not None and evicted.reason == "PodsReadyTimeout" and (ready is None or ready.by_eviction)
    if evicted is not None and evicted.since is not None and (was_late or evicted.reason == "AdmissionCheck"):
        return replace(waiting, ordered_at=parse_time(evicted.since))
    return waiting


def _time(written: str | None) -> float:
    return float("-inf") if written is None else parse_time(written)
