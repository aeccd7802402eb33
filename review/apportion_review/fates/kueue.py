"""The fates of running work under Kueue.

A lower quota alone evicts nothing: a workload is preempted for a pending one, or its queue is drained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_api.counted_nouns import agreeing, counted
from apportion_api.kueue.names import GROUP, NOT_STOPPED
from apportion_api.kueue.workloads import Workload as KueueWorkload
from apportion_compiler.engines.kueue.emit.flavors import MODEL_ANNOTATION
from apportion_compiler.plain_objects import Manifest, annotations_of, items, mapping, name_of, text
from apportion_compiler.pool_label_keys import GPU_MODEL_LABEL
from apportion_review.fates.kueue_bound import EvictionBound, excess
from apportion_review.fates.kueue_cycles import Evictions, evictions
from apportion_review.fates.kueue_workloads import DRAINED, KueueCluster, kueue_cluster
from apportion_review.fates.losses import losses
from apportion_review.fates.records import EngineFates, Fate, Verdict, Workload, WorkloadFate
from apportion_review.fates.unmanaged import unmanaged
from apportion_review.fates.workloads import (
    UNKNOWN_MODEL,
    OwnedPods,
    Owner,
    gpus_of,
    models_of_nodes,
    of_group,
    owned_pods,
)
from apportion_runtime.engines.kueue.quota_tree import FlavorResource
from apportion_runtime.engines.kueue.records import STRATEGIES
from apportion_runtime.snapshots.pod_requests import GPUS, amount
from apportion_runtime.snapshots.quantities import parse_time

SOURCE = "Kueue v0.18.3"
_CHECKS_THAT_EVICT = ("Retry", "Rejected")
_ASSUMED_PRIORITIES = (
    "Future workloads are assumed to use one of the priority classes in the objects; system-cluster-critical and "
    "system-node-critical are ignored."
)
_NOT_MODELLED = (
    "Evictions due to failed nodes, failed pods (waitForPodsReady.recoveryTimeout) and maximumExecutionTimeSeconds, and "
    "evictions of single pods by kube-scheduler, are not modelled, because they do not depend on quotas."
)


def kueue_fates(base: Sequence[Manifest], head: Sequence[Manifest], *, now: float | None) -> EngineFates:
    """Return the fates of the admitted Workloads of a cluster."""
    notes: list[str] = []
    reasons: list[str] = []
    is_complete = True
    sides: list[Mapping[str, Verdict]] = []
    running: dict[str, KueueWorkload] = {}
    known: dict[int, KueueWorkload] = {}
    for name, objects in (("base", base), ("head", head)):
        try:
            cluster = kueue_cluster(objects, now, known)
            side = _Side(cluster, now)
        except ValueError as wrong:
            notes.append(f"The {name} cannot be evaluated: {wrong}.")
            reasons.append(f"the {name} cannot be evaluated: {wrong}")
            sides.append({})
            continue
        is_complete = is_complete and side.is_complete
        sides.append(side.verdicts())
        running = {**cluster.admitted, **running}
        notes += _notes(cluster)
    rows, left = _rows(base, running, sides)
    if not is_complete:
        reasons.append("the simulation reached its cycle limit")
    owners, lost = _workload_owners(base), losses(base, head)
    not_admitted = [owned for owned in left if owned.owners & owners]
    if not_admitted:
        n = len(not_admitted)
        notes.append(
            f"{counted(n, 'running workload')} {agreeing(n, 'is', 'are')} not admitted by Kueue and {agreeing(n, 'is', 'are')} excluded."
        )
    return EngineFates(
        "kueue",
        SOURCE,
        is_verified=True,
        rows=tuple(map(lost.in_namespace, rows)),
        notes=tuple(dict.fromkeys((*notes, _NOT_MODELLED))),
        why_incomplete=" and ".join(reasons),
        unmanaged=unmanaged((owned for owned in left if not owned.owners & owners), models_of_nodes(base)),
    )


def _notes(cluster: KueueCluster) -> Iterator[str]:
    if not cluster.has_configuration:
        yield (
            "Kueue's Configuration is not in the input: fair sharing may be enabled or disabled, and a "
            "workload counts as safe only if it is safe in both cases."
        )
    if cluster.highest_priority is None:
        yield "The objects include no priority class: any priority is assumed to be possible."
    else:
        yield _ASSUMED_PRIORITIES
    if cluster.undecided:
        yield (
            "Evictions for waiting workloads with topology requests, device claims or elastic slices are not "
            f"predicted: {', '.join(cluster.undecided[:5])}."
        )


def _rows(
    objects: Sequence[Manifest], running: Mapping[str, KueueWorkload], sides: Sequence[Mapping[str, Verdict]]
) -> tuple[tuple[WorkloadFate, ...], list[OwnedPods]]:
    """Return the rows, and the owners of running pods that no Workload stands for."""
    unread = Verdict(Fate.UNKNOWN, "the objects under this policy cannot be evaluated")
    pods = owned_pods(objects)
    by_owner = {owner: owned for owned in pods for owner in owned.owners}
    flavors = {name_of(m): model_of_flavor(m) for m in of_group(objects, GROUP, "ResourceFlavor")}
    nodes = models_of_nodes(objects)
    known: dict[Owner, OwnedPods | None] = {}
    rows: list[WorkloadFate] = []
    for key, workload in sorted(running.items()):
        identity = next((Owner(workload.namespace, o.name, o.kind) for o in workload.owners), None)
        if identity is None or identity in known:
            identity = Owner(workload.namespace, workload.name, "Workload")
        owned = known[identity] = by_owner.get(identity)
        gpus = _gpus(workload, flavors)
        if owned is not None and set(gpus) <= {UNKNOWN_MODEL}:
            gpus = gpus_of(owned.pods, nodes) or gpus
        base, head = (side.get(key, unread) for side in sides)
        rows.append(WorkloadFate(_record(workload, identity, gpus, owned), base, head))
    rows.sort(key=lambda row: (row.workload.namespace, row.workload.name, row.workload.kind))
    admitted = {id(owned) for owned in known.values() if owned is not None}
    return tuple(rows), [owned for owned in pods if id(owned) not in admitted]


def _workload_owners(objects: Sequence[Manifest]) -> frozenset[Owner]:
    """Return the owners of all Workloads, admitted or not."""
    return frozenset(
        Owner(text(made, "metadata", "namespace") or "", str(each.get("name") or ""), str(each.get("kind") or ""))
        for made in of_group(objects, GROUP, "Workload")
        for each in map(mapping, items(made, "metadata", "ownerReferences"))
    )


def _record(workload: KueueWorkload, identity: Owner, gpus: Mapping[str, int], owned: OwnedPods | None) -> Workload:
    assert workload.admission is not None
    admitted = workload.condition("Admitted")
    return Workload(
        identity.kind,
        identity.namespace,
        identity.name,
        workload.admission.cluster_queue,
        gpus,
        sum(each.count or 0 for each in workload.admission.pod_sets) if owned is None else len(owned.pods),
        workload.priority_class,
        started=None if admitted is None or admitted.since is None else parse_time(admitted.since),
    )


def _gpus(workload: KueueWorkload, flavors: Mapping[str, str]) -> dict[str, int]:
    """Return the GPUs of a workload in thousandths, by the model of the flavor."""
    assert workload.admission is not None
    gpus: dict[str, int] = {}
    for each in workload.admission.pod_sets:
        for resource in GPUS & each.usage.keys():
            held = amount(resource, each.usage[resource])
            if held:
                model = flavors.get(each.flavors.get(resource, ""), UNKNOWN_MODEL)
                gpus[model] = gpus.get(model, 0) + 1000 * held
    return gpus


def model_of_flavor(flavor: Manifest) -> str:
    """Return the GPU model of a ResourceFlavor; `UNKNOWN_MODEL` if it names none."""
    found = annotations_of(flavor).get(MODEL_ANNOTATION)
    return str(found or mapping(flavor, "spec", "nodeLabels").get(GPU_MODEL_LABEL, UNKNOWN_MODEL))


@dataclass(frozen=True, slots=True)
class _Prospect:
    """The possible and the current evictions by one preemption algorithm."""

    bound: EvictionBound
    now: Evictions


class _Side:
    """A cluster under one policy."""

    def __init__(self, cluster: KueueCluster, now: float | None) -> None:
        self._cluster = cluster
        strategies = cluster.configured.rules.strategies
        ways = (strategies,) if cluster.has_configuration else (None, STRATEGIES)
        times = [holder.reserved_at or 0.0 for holder in cluster.holders.values()]
        at = max(times, default=0.0) if now is None else now
        self._prospects = [
            _Prospect(EvictionBound(cluster, is_fair=way is not None), evictions(cluster, way, at)) for way in ways
        ]
        self._excess = excess(self._prospects[0].bound, cluster)

    @property
    def is_complete(self) -> bool:
        """Whether the cycles ran to the end."""
        return all(prospect.now.is_complete for prospect in self._prospects)

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdict of each admitted workload."""
        return {key: self._verdict(key, workload) for key, workload in self._cluster.admitted.items()}

    def _verdict(self, key: str, workload: KueueWorkload) -> Verdict:
        forced = self._forced(workload)
        if forced:
            return Verdict(Fate.EVICTED, forced)
        holder = self._cluster.holders.get(key)
        if holder is None:
            return self._of_inactive(workload)
        found = [prospect.now.found.get(key) for prospect in self._prospects]
        decided = not self._cluster.undecided
        first = next((each for each in found if each is not None), None)
        if first is not None and decided and all(found):
            return Verdict(Fate.EVICTED, f"preempted for pending work in {first.queue} ({first.reason})", first.queue)
        for prospect in self._prospects:
            evictor = prospect.bound.evictor(holder)
            if evictor is not None:
                return Verdict(Fate.ON_DEMAND, evictor.rule, evictor.queue)
        if first is not None:
            return Verdict(Fate.ON_DEMAND, f"may be preempted for work in {first.queue}", first.queue)
        inactive = self._cluster.queues[holder.queue].inactive_because
        if inactive:
            return Verdict(
                Fate.UNKNOWN, f"ClusterQueue {holder.queue} is inactive according to the objects: {inactive}"
            )
        if key in self._excess:
            return Verdict(Fate.STUCK, _excess_rule(*self._excess[key]))
        return self._undemanded(workload) or Verdict(Fate.SAFE, "no queue can preempt it, whatever the queues request")

    def _forced(self, workload: KueueWorkload) -> str:
        """Return the reason why Kueue evicts a workload without demand; empty if it does not."""
        evicted = workload.condition("Evicted")
        if evicted is not None:
            return f"its eviction has started ({evicted.reason})"
        if workload.active is False or workload.condition("DeactivationTarget") is not None:
            return "the Workload is deactivated"
        assert workload.admission is not None
        queue = workload.admission.cluster_queue
        if self._cluster.stopped.get(queue) == DRAINED:
            return f"ClusterQueue {queue} has stopPolicy {DRAINED}"
        if self._cluster.stopped_local.get((workload.namespace, workload.local_queue)) == DRAINED:
            return f"LocalQueue {workload.namespace}/{workload.local_queue} has stopPolicy {DRAINED}"
        state = next((check for check in workload.checks if check.state in _CHECKS_THAT_EVICT), None)
        return "" if state is None else f"admission check {state.name} is {state.state}"

    def _of_inactive(self, workload: KueueWorkload) -> Verdict:
        assert workload.admission is not None
        name = workload.admission.cluster_queue
        if self._cluster.stopped.get(name, NOT_STOPPED) == NOT_STOPPED:
            return Verdict(
                Fate.STUCK, f"ClusterQueue {name} is inactive, and will be deleted when its workloads finish"
            )
        return self._undemanded(workload) or Verdict(
            Fate.SAFE, f"ClusterQueue {name} is stopped (Hold), and Kueue does not preempt workloads of inactive queues"
        )

    def _undemanded(self, workload: KueueWorkload) -> Verdict | None:
        """Return the verdict if a workload may be evicted for reasons other than demand, which are not modelled."""
        if workload.checks:
            return Verdict(Fate.UNKNOWN, f"admission check {workload.checks[0].name} may evict it")
        is_ready = workload.condition("PodsReady") is not None
        if self._cluster.configured.settings.pods_ready is not None and not is_ready:
            return Verdict(Fate.UNKNOWN, "its pods are not ready, and waitForPodsReady may evict it")
        return None


def _excess_rule(fr: FlavorResource, limit: int) -> str:
    flavor, resource = fr
    return f"its queue is over its limit of {limit} {resource} on {flavor}, and no queue can preempt it"
