"""The fates of running work under Volcano, by a static model of its actions `preempt` and `reclaim`.

Source: volcano-sh/volcano pkg/scheduler/actions, pkg/scheduler/framework/session_plugins.go, plugins/capacity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_api.objects import read, read_all
from apportion_api.volcano.configuration import SchedulerConfiguration
from apportion_api.volcano.names import GROUP, GROUP_ANNOTATION, QUEUE_ANNOTATION, QUEUE_LABEL, SCHEDULER
from apportion_api.volcano.objects import PodGroup, Queue
from apportion_compiler.plain_objects import Manifest, annotations_of, integer, labels_of, mapping, text
from apportion_review.fates.pod_fates import (
    EngineModel,
    Use,
    beyond_limits,
    classes_of,
    pod_fates,
    started_of,
)
from apportion_review.fates.records import EngineFates, Fate, Verdict
from apportion_review.fates.workloads import OwnedPods, of_group, owned_pods, requests_of
from apportion_runtime.engines.volcano.amounts import UNBOUNDED, common
from apportion_runtime.engines.volcano.capacity import DEFAULT, ROOT, Capacity, queue_spec
from apportion_runtime.engines.volcano.configuration import written_configuration
from apportion_runtime.engines.volcano.pod_groups import is_preemptable
from apportion_runtime.sim.api.pod_requests import CPU, MEMORY, amounts, total

SOURCE = "Volcano v1.16.0-alpha.1-42"
_PREEMPT, _RECLAIM = "preempt", "reclaim"
_HARMLESS = frozenset(("enqueue", "allocate", "backfill"))
_NO_VICTIMS = frozenset(
    ("predicates", "nodeorder", "binpack", "overcommit", "resource-strategy-fit", "nodegroup", "network-topology-aware")
)
"""Plugins that select no victims."""


def volcano_fates(base: Sequence[Manifest], head: Sequence[Manifest], *, now: float | None) -> EngineFates:
    """Return the fates of the running pods of a cluster, by owner."""
    return pod_fates(_MODEL, base, head)


class _Side:
    """A cluster under one policy. Raises `ValueError` for objects that cannot be evaluated."""

    def __init__(self, objects: Sequence[Manifest]) -> None:
        self._configuration = written_configuration(list(of_group(objects, "", "ConfigMap")))
        self._classes = classes_of(objects)
        self._groups = {f"{each.namespace}/{each.name}": each for each in read_all(PodGroup, objects)}
        specs = [queue_spec(read(Queue, made)) for made in of_group(objects, GROUP, "Queue")]
        allocatable = [amounts(mapping(node, "status", "allocatable")) for node in of_group(objects, "", "Node")]
        self._capacity = Capacity(specs, total(allocatable), hierarchy=self._has_hierarchy)
        self._owned = [owned for owned in owned_pods(objects) if self._is_own(owned)]
        for owned in self._owned:
            queue = self.queue_of(owned)
            if queue in self._capacity.queues:
                self._capacity.charge(queue, _amounts(owned))
        self._beyond = beyond_limits(
            [
                Use(owned.owner, self.queue_of(owned), _amounts(owned), self._priority(owned), started_of(owned))
                for owned in self._owned
            ],
            self._limit,
        )

    @property
    def _has_hierarchy(self) -> bool:
        return self._configuration is None or self._configuration.has_hierarchy

    @staticmethod
    def _is_own(owned: OwnedPods) -> bool:
        return all(text(pod, "spec", "schedulerName") == SCHEDULER for pod in owned.pods)

    def _group(self, owned: OwnedPods) -> PodGroup | None:
        pod = owned.pods[0]
        name = annotations_of(pod).get(GROUP_ANNOTATION)
        return None if name is None else self._groups.get(f"{owned.owner.namespace}/{name}")

    def queue_of(self, owned: OwnedPods) -> str:
        """Return the queue of the pod group, or that which the pods name."""
        group, pod = self._group(owned), owned.pods[0]
        if group is not None:
            return group.queue or DEFAULT
        return annotations_of(pod).get(QUEUE_ANNOTATION) or labels_of(pod).get(QUEUE_LABEL) or DEFAULT

    def is_preemptible(self, owned: OwnedPods) -> bool | None:
        """Tell whether any of the pods may be evicted."""
        return any(is_preemptable(pod) for pod in owned.pods)

    def notes(self) -> Iterator[str]:
        """Yield what is assumed."""
        yield from self._classes.notes()
        if self._configuration is None:
            yield (
                "The ConfigMap of Volcano's scheduler is not among the objects: all actions are assumed to be enabled, "
                "and no plugin to protect pods."
            )

    def verdict(self, owned: OwnedPods) -> Verdict:
        """Return the fate of pods."""
        if not self._is_own(owned):
            return Verdict(Fate.UNKNOWN, "not scheduled by Volcano")
        if self.queue_of(owned) not in self._capacity.queues:
            return Verdict(Fate.UNKNOWN, f"there is no queue {self.queue_of(owned)}")
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
            return Verdict(Fate.UNKNOWN, "not preemptable, but the actions of the scheduler are unknown")
        return self._preempted(owned) or self._reclaimed(owned) or self._kept(owned, self._protection(owned))

    def _preempted(self, owned: OwnedPods) -> Verdict | None:
        if not _enables(self._configuration, _PREEMPT):
            return None
        is_by_priority = _is_sole(self._configuration, "priority", "Preemptable")
        lowest = min([self._priority(owned), *(integer(pod, "spec", "priority") or 0 for pod in owned.pods)])
        if is_by_priority and not self._classes.outranks(lowest):
            return None
        return Verdict(Fate.ON_DEMAND, "a job of a higher priority in its queue may preempt it", self.queue_of(owned))

    def _reclaimed(self, owned: OwnedPods) -> Verdict | None:
        queue = self._capacity.queues[self.queue_of(owned)]
        if not _enables(self._configuration, _RECLAIM) or not queue.spec.reclaimable:
            return None
        by = self._reclaimer(queue.name)
        if by is None or self._is_within(queue.name, owned):
            return None
        return Verdict(Fate.ON_DEMAND, f"its queue may use more than it deserves, which {by} may reclaim", by)

    def _reclaimer(self, but: str) -> str | None:
        """Return another queue that deserves anything."""
        by_deserved = _is_sole(self._configuration, "capacity", "Reclaimable")
        for name, queue in sorted(self._capacity.queues.items()):
            is_other = name not in (but, ROOT) and self._capacity.is_leaf(name) and queue.spec.is_open
            if is_other and (not by_deserved or any(queue.deserved.values())):
                return name
        return None

    def _is_within(self, name: str, owned: OwnedPods) -> bool:
        """Tell whether the plugin capacity forbids to reclaim pods: their queue never holds more than it deserves."""
        if not _is_sole(self._configuration, "capacity", "Reclaimable") or self._capacity.fault:
            return False
        request = _amounts(owned)
        for queue in self._capacity.path(name):
            if queue.name == ROOT:
                continue
            if not common(request, queue.deserved):
                return False
            for resource, amount in request.items():
                deserved = queue.deserved.get(resource, 0)
                is_counted = deserved > 0 if resource in (CPU, MEMORY) else resource in queue.deserved
                most = max(queue.real.get(resource, UNBOUNDED), queue.allocated.get(resource, 0))
                if amount and is_counted and most > deserved:
                    return False
        return True

    def _protection(self, owned: OwnedPods) -> str:
        if not self._capacity.queues[self.queue_of(owned)].spec.reclaimable:
            return "no priority class ranks above it, and its queue is not reclaimable"
        return "no priority class ranks above it, and no queue may reclaim from its own"

    def _kept(self, owned: OwnedPods, rule: str) -> Verdict:
        if owned.owner in self._beyond:
            queue, resource, limit = self._beyond[owned.owner]
            return Verdict(Fate.STUCK, f"{queue} is over its capability of {limit} {resource}; {rule}")
        return Verdict(Fate.SAFE, rule)

    def _limit(self, queue: str, resource: str) -> int | None:
        held = self._capacity.queues.get(queue)
        return None if held is None or resource not in held.capability else held.real.get(resource)

    def _priority(self, owned: OwnedPods) -> int:
        group = self._group(owned)
        named = None if group is None else self._classes.values.get(group.priority_class or "")
        return owned.priority if named is None else named


def _amounts(owned: OwnedPods) -> dict[str, int]:
    return total(requests_of(pod) for pod in owned.pods)


def _enables(configuration: SchedulerConfiguration | None, action: str) -> bool:
    return configuration is None or action in configuration.actions


def _is_sole(configuration: SchedulerConfiguration | None, plugin: str, function: str) -> bool:
    """Tell whether a plugin takes part in every selection of victims.

    A tier whose plugins agree on no victim leaves the choice to the next one, so there must be a single tier that selects.
    """
    if configuration is None:
        return False
    selecting = [
        {each.name for each in tier.plugins if each.name not in _NO_VICTIMS and each.does(function)}
        for tier in configuration.tiers
    ]
    # The plugin priority selects no victims of a reclaim.
    deciding = [names - ({"priority"} if function == "Reclaimable" else set()) for names in selecting]
    decided = [names for names in deciding if names]
    return len(decided) == 1 and plugin in decided[0]


_MODEL = EngineModel(
    "volcano",
    SOURCE,
    _Side,
    (
        "Volcano is not simulated on the snapshot: workloads that pending work would evict count as reclaimable on demand.",
        "Protection by the gang plugin, which may keep jobs at their minimum, is not modelled.",
    ),
)
