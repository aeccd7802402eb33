"""The fates of running work under Volcano: simulated cycles for pending work, and a bound for future work.

Source: volcano-sh/volcano pkg/scheduler/actions, pkg/scheduler/framework/session_plugins.go, plugins/capacity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from apportion_api.objects import read, read_all
from apportion_api.volcano.configuration import SchedulerConfiguration
from apportion_api.volcano.names import GROUP, GROUP_ANNOTATION, QUEUE_ANNOTATION, QUEUE_LABEL, SCHEDULER
from apportion_api.volcano.objects import PodGroup, Queue
from apportion_compiler.backends.metadata import QUEUE_ID_LABEL
from apportion_compiler.plain_objects import Manifest, annotations_of, integer, labels_of, mapping, text
from apportion_review.fates.pod_fates import EngineModel, Use, beyond_limits, pod_fates, started_of
from apportion_review.fates.records import EngineFates, Fate, Verdict
from apportion_review.fates.unmanaged import scheduler_of
from apportion_review.fates.volcano_bound import ReclaimBound
from apportion_review.fates.volcano_cycles import N_CYCLES, evictions, is_recorded
from apportion_review.fates.volcano_priorities import Priorities
from apportion_review.fates.workloads import OwnedPods, of_group, owned_pods, requests_of
from apportion_runtime.engines.volcano.capacity import DEFAULT, ROOT, Capacity, queue_spec
from apportion_runtime.engines.volcano.configuration import is_decided_by, written_configuration
from apportion_runtime.engines.volcano.pod_groups import is_preemptable
from apportion_runtime.snapshots.pod_requests import amounts, total

SOURCE = "Volcano v1.16.0-alpha.1-42"
_CYCLES_NOTE = (
    f"`evicted now` lists what {N_CYCLES} simulated cycles evict for the snapshot's pending work; evicted pods terminate "
    "before the next cycle and become pending again."
)
_ORDER_NOTE = (
    "If Volcano can evict work from several nodes, it tries the nodes in no fixed order: work reported as reclaimable "
    "on demand may be evicted instead of work reported as evicted now."
)
_GANG_NOTE = (
    "The gang plugin, which can protect minAvailable pods of a job, is taken into account only in the simulated cycles."
)
_OTHERS_NOTE = "Preemption by kube-scheduler, for pods that Volcano does not schedule, is not modelled."
_PREEMPT, _RECLAIM = "preempt", "reclaim"
_HARMLESS = frozenset(("enqueue", "allocate", "backfill"))


def volcano_fates(base: Sequence[Manifest], head: Sequence[Manifest], *, now: float | None) -> EngineFates:
    """Return the fates of the running pods of a cluster, by owner."""
    found = pod_fates(_MODEL, base, head)
    return replace(found, is_verified=is_recorded(base) and is_recorded(head))


class _Side:
    """A cluster under one policy. Raises `ValueError` for objects that cannot be evaluated."""

    def __init__(self, objects: Sequence[Manifest]) -> None:
        self._configuration = made = written_configuration(list(of_group(objects, "", "ConfigMap")))
        self._priorities = Priorities(objects)
        self._groups = {f"{each.namespace}/{each.name}": each for each in read_all(PodGroup, objects)}
        queues = [read(Queue, made) for made in of_group(objects, GROUP, "Queue")]
        self._ids = {queue.name: queue.labels.get(QUEUE_ID_LABEL, queue.name) for queue in queues}
        specs = [queue_spec(queue) for queue in queues]
        allocatable = [amounts(mapping(node, "status", "allocatable")) for node in of_group(objects, "", "Node")]
        self._capacity = Capacity(
            specs,
            total(allocatable),
            hierarchy=made is None or made.has_hierarchy,
            ancestor_level=0 if made is None else made.ancestor_level,
        )
        self._owned = [owned for owned in owned_pods(objects) if self._is_own(owned)]
        self._by_owner = {owned.owner: owned for owned in self._owned}
        for owned in self._owned:
            queue = self._queue(owned)
            if queue in self._capacity.queues:
                self._capacity.charge(queue, _amounts(owned))
        self._bound = ReclaimBound(self._capacity)
        self._evictions = evictions(objects)
        self._beyond = beyond_limits(
            [
                Use(owned.owner, self._queue(owned), _amounts(owned), self._priority(owned), started_of(owned))
                for owned in self._owned
            ],
            self._limit,
        )

    @staticmethod
    def _is_own(owned: OwnedPods) -> bool:
        return all(scheduler_of(pod) == SCHEDULER for pod in owned.pods)

    def is_managed(self, owned: OwnedPods) -> bool:
        """Return whether Volcano schedules any of the pods, or counts it to a job for its annotation."""
        return any(scheduler_of(pod) == SCHEDULER or annotations_of(pod).get(GROUP_ANNOTATION) for pod in owned.pods)

    def _group(self, pod: Manifest) -> PodGroup | None:
        return _group_of(pod, self._groups)

    def _missing_group(self, pod: Manifest) -> str | None:
        name = annotations_of(pod).get(GROUP_ANNOTATION)
        return None if name is None or self._group(pod) is not None else str(name)

    def queue_of(self, owned: OwnedPods) -> str:
        """Return the policy's queue of the pod group, or the one that the pods name."""
        name = self._queue(owned)
        return self._ids.get(name, name)

    def _queue(self, owned: OwnedPods) -> str:
        """Return the name of the Queue object: a queue of the policy has one for each GPU model."""
        return queue_of_pod(owned.pods[0], self._groups)

    def is_preemptible(self, owned: OwnedPods) -> bool | None:
        """Return whether any of the pods is preemptible."""
        return any(is_preemptable(pod) for pod in owned.pods)

    def notes(self) -> Iterator[str]:
        """Yield the assumptions."""
        yield from self._priorities.notes()
        if self._configuration is None:
            yield (
                "The Volcano scheduler's ConfigMap is not in the input: all actions are assumed to be enabled, "
                "and no plugin is assumed to protect pods."
            )
        if self._evictions.unsupported:
            yield self._evictions.note("Volcano")

    @property
    def why_incomplete(self) -> str:
        """Return why pending work may cause further evictions; empty if the cycles ran to the end."""
        return "" if self._evictions.is_complete else f"fewer than {N_CYCLES} cycles were simulated"

    def verdict(self, owned: OwnedPods) -> Verdict:
        """Return the fate of pods on this side."""
        found = self._decided(owned)
        return replace(found, beneficiary=self._ids.get(found.beneficiary, found.beneficiary))

    def _decided(self, owned: OwnedPods) -> Verdict:
        owned = self._by_owner.get(owned.owner, owned)
        if not self._is_own(owned):
            return Verdict(Fate.UNKNOWN, "some of its pods are not scheduled by Volcano")
        missing = next((name for pod in owned.pods if (name := self._missing_group(pod))), None)
        if missing is not None:
            return Verdict(Fate.UNKNOWN, f"its PodGroup {missing} is not in the input")
        if self._queue(owned) not in self._capacity.queues:
            return Verdict(Fate.UNKNOWN, f"queue {self._queue(owned)} does not exist")
        evicted = self._evictions.verdict(owned)
        if evicted is not None:
            return evicted
        made = self._configuration
        if made is not None:
            unknown = next((a for a in made.actions if a not in (*_HARMLESS, _PREEMPT, _RECLAIM)), None)
            if unknown is not None:
                return Verdict(Fate.UNKNOWN, f"the {unknown} action is not modelled")
            if not {_PREEMPT, _RECLAIM} & set(made.actions):
                return self._kept(owned, "neither the preempt nor the reclaim action is enabled")
            if not self.is_preemptible(owned):
                return self._kept(owned, "not preemptable (volcano.sh/preemptable: false)")
        elif not self.is_preemptible(owned):
            return Verdict(Fate.UNKNOWN, "not preemptable, but the scheduler's actions are unknown")
        return self._preempted(owned) or self._reclaimed(owned) or self._kept(owned, self._protection(owned))

    def _preempted(self, owned: OwnedPods) -> Verdict | None:
        if not _enables(self._configuration, _PREEMPT):
            return None
        is_by_priority = _is_decided_by(self._configuration, "priority", "Preemptable")
        lowest = min([self._priority(owned), *(integer(pod, "spec", "priority") or 0 for pod in owned.pods)])
        if is_by_priority and not self._priorities.outranks(lowest):
            return None
        return Verdict(Fate.ON_DEMAND, "a higher-priority job in its queue may preempt it", self._queue(owned))

    def _reclaimed(self, owned: OwnedPods) -> Verdict | None:
        queue = self._capacity.queues[self._queue(owned)]
        if not _enables(self._configuration, _RECLAIM) or not queue.spec.reclaimable:
            return None
        if _is_decided_by(self._configuration, "capacity", "Reclaimable"):
            reclaimers = (self._bound.reclaimer(queue.name, requests_of(pod)) for pod in owned.pods)
            by = next((name for name in reclaimers if name is not None), None)
        else:
            others = (name for name in sorted(self._capacity.queues) if name not in (queue.name, ROOT))
            by = next((name for name in others if self._capacity.is_leaf(name)), None)
        if by is None:
            return None
        return Verdict(Fate.ON_DEMAND, f"its queue may exceed its deserved amount, and {by} may reclaim the excess", by)

    def _protection(self, owned: OwnedPods) -> str:
        above = (
            "no priority class ranks above it"
            if _enables(self._configuration, _PREEMPT)
            else "the preempt action is not enabled"
        )
        if not self._capacity.queues[self._queue(owned)].spec.reclaimable:
            return f"{above}, and its queue is not reclaimable"
        return f"{above}, and a queue cannot reclaim from itself"

    def _kept(self, owned: OwnedPods, rule: str) -> Verdict:
        if owned.owner in self._beyond:
            queue, resource, limit = self._beyond[owned.owner]
            return Verdict(Fate.STUCK, f"{queue} is over its capability of {limit} {resource}; {rule}")
        return Verdict(Fate.SAFE, rule)

    def _limit(self, queue: str, resource: str) -> int | None:
        held = self._capacity.queues.get(queue)
        return None if held is None or resource not in held.capability else held.real.get(resource)

    def _priority(self, owned: OwnedPods) -> int:
        """Return the lowest priority of the jobs of pods."""
        return min(self._priorities.of_job(self._group(pod), pod) for pod in owned.pods)


def queue_of_pod(pod: Manifest, groups: Mapping[str, PodGroup]) -> str:
    """Return the queue of a pod's group, or that which the pod names.

    Args:
        pod: The pod.
        groups: The PodGroups, by namespace and name.
    """
    group = _group_of(pod, groups)
    if group is not None:
        return group.queue or DEFAULT
    return annotations_of(pod).get(QUEUE_ANNOTATION) or labels_of(pod).get(QUEUE_LABEL) or DEFAULT


def _group_of(pod: Manifest, groups: Mapping[str, PodGroup]) -> PodGroup | None:
    name = annotations_of(pod).get(GROUP_ANNOTATION)
    return None if name is None else groups.get(f"{text(pod, 'metadata', 'namespace') or ''}/{name}")


def _amounts(owned: OwnedPods) -> dict[str, int]:
    return total(requests_of(pod) for pod in owned.pods)


def _enables(configuration: SchedulerConfiguration | None, action: str) -> bool:
    return configuration is None or action in configuration.actions


def _is_decided_by(configuration: SchedulerConfiguration | None, plugin: str, function: str) -> bool:
    return configuration is not None and is_decided_by(configuration, plugin, function)


_MODEL = EngineModel("volcano", SOURCE, _Side, (_CYCLES_NOTE, _ORDER_NOTE, _GANG_NOTE, _OTHERS_NOTE))
