"""Fates on engines that evict pods: a row for each owner of running pods, decided by a model of each side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from apportion_api.counted_nouns import agreeing, counted
from apportion_api.kubernetes.objects import PriorityClass
from apportion_api.objects import read_all
from apportion_compiler.plain_objects import Manifest, integer, text
from apportion_review.fates.losses import losses
from apportion_review.fates.records import EngineFates, Fate, Verdict, Workload, WorkloadFate
from apportion_review.fates.unmanaged import SYSTEM_NAMESPACES, unmanaged
from apportion_review.fates.workloads import OwnedPods, Owner, gpus_of, models_of_nodes, of_group, owned_pods
from apportion_runtime.snapshots.quantities import parse_time

_SYSTEM_CLASSES = "system-"
_UNREAD = Verdict(Fate.UNKNOWN, "the cluster's objects cannot be evaluated under this policy")
NODES_NOTE = (
    "Evictions due to node failure or node pressure, and evictions for DaemonSet pods that are not in the snapshot, "
    "are not modelled."
)


_ASSUMED_CLASSES = (
    "Future pods are assumed to use one of the priority classes in the objects; system-cluster-critical and "
    "system-node-critical are ignored."
)


class SideModel(Protocol):
    """The possible evictions of running pods by an engine under one policy."""

    @property
    def why_incomplete(self) -> str:
        """Return why pending work may cause further evictions, as a clause; empty for a model without cycles."""
        ...

    def queue_of(self, owned: OwnedPods) -> str:
        """Return the queue to which pods are charged."""
        ...

    def is_managed(self, owned: OwnedPods) -> bool:
        """Return whether the engine schedules any of the pods, or accounts them to a queue."""
        ...

    def verdict(self, owned: OwnedPods) -> Verdict:
        """Return the fate of pods."""
        ...

    def is_preemptible(self, owned: OwnedPods) -> bool | None:
        """Return whether the engine treats pods as preemptible; None if it does not distinguish."""
        ...

    def notes(self) -> Iterable[str]:
        """Return the assumptions, one sentence each."""
        ...


@dataclass(frozen=True, slots=True)
class EngineModel:
    """An engine, and the model of a side.

    Attributes:
        engine: Name of the engine.
        source: Its name and the version that the rules were read from.
        read: Returns the model of a side. Raises `ValueError` for objects that cannot be evaluated.
        notes: What the model does not take into account, one sentence each.
        replaces_lost_pods: Whether pods of a removed node wait again in the head.
        unverified: What is not compared with the real engine, as a clause.
    """

    engine: str
    source: str
    read: Callable[[Sequence[Manifest]], SideModel]
    notes: tuple[str, ...]
    replaces_lost_pods: bool = False
    unverified: str = "modelled, not verified"


def pod_fates(model: EngineModel, base: Sequence[Manifest], head: Sequence[Manifest]) -> EngineFates:
    """Return the fates of the owners of a cluster's running pods, except in Kubernetes' own namespaces."""
    notes: list[str] = []
    unread: list[str] = []
    sides: list[SideModel | None] = []
    lost = losses(base, head)
    for name, objects in (("base", base), ("head", lost.applied(head) if model.replaces_lost_pods else head)):
        try:
            side = model.read(objects)
        except ValueError as wrong:
            notes.append(f"The {name} cannot be evaluated: {wrong}.")
            unread.append(f"the {name} cannot be evaluated: {wrong}")
            sides.append(None)
            continue
        sides.append(side)
        notes += side.notes()
    nodes = models_of_nodes(base)
    known = next((side for side in sides if side is not None), None)
    rows: list[WorkloadFate] = []
    others: list[OwnedPods] = []
    n_system = 0
    for owned in owned_pods(base):
        if owned.owner.namespace in SYSTEM_NAMESPACES:
            n_system += 1
            continue
        if known is not None and not any(side is not None and side.is_managed(owned) for side in sides):
            others.append(owned)
            continue
        before, after = (_UNREAD if side is None else side.verdict(owned) for side in sides)
        if sides[1] is not None:
            after = lost.verdict(owned) or after
        if after.fate is not Fate.EVICTED:
            after = lost.uncertainty(owned.owner.namespace) or after
        rows.append(WorkloadFate(_workload(owned, known, nodes), before, after))
    if n_system:
        verb = agreeing(n_system, "is", "are")
        notes.append(f"{counted(n_system, 'workload')} in Kubernetes system namespaces {verb} excluded.")
    notes += (*model.notes, NODES_NOTE)
    cut_short = next((side.why_incomplete for side in sides if side is not None and side.why_incomplete), "")
    return EngineFates(
        model.engine,
        model.source,
        is_verified=False,
        rows=tuple(rows),
        notes=tuple(dict.fromkeys(notes)),
        why_incomplete=" and ".join(filter(None, (*unread, cut_short))),
        unmanaged=unmanaged(others, nodes),
        unverified=model.unverified,
    )


def _workload(owned: OwnedPods, side: SideModel | None, nodes: Mapping[str, str]) -> Workload:
    started = [time for pod in owned.pods if (time := text(pod, "status", "startTime")) is not None]
    return Workload(
        owned.owner.kind,
        owned.owner.namespace,
        owned.owner.name,
        "" if side is None else side.queue_of(owned),
        gpus_of(owned.pods, nodes),
        len(owned.pods),
        owned.priority_class,
        None if side is None else side.is_preemptible(owned),
        min(map(parse_time, started), default=None),
    )


@dataclass(frozen=True, slots=True)
class Classes:
    """The priorities of a cluster's PriorityClasses, without those of the system.

    Attributes:
        values: Value of each class by name.
        highest: The highest value of a class that may preempt; None if there are no classes, so that any value is
            possible.
    """

    values: Mapping[str, int]
    highest: int | None

    def outranks(self, priority: int) -> bool:
        """Return whether a pod may exist that preempts one of the given priority."""
        return self.highest is None or self.highest > priority

    def notes(self) -> tuple[str, ...]:
        """Return the assumptions about priorities."""
        if self.highest is None:
            return ("The objects include no PriorityClass: any priority is assumed to be possible.",)
        return (_ASSUMED_CLASSES,)


def classes_of(objects: Sequence[Manifest]) -> Classes:
    """Return the priority classes among objects; pods without a class have priority 0 and may preempt."""
    values: dict[str, int] = {}
    preempting = [0]
    for cls in read_all(PriorityClass, objects):
        if cls.name.startswith(_SYSTEM_CLASSES) or cls.value is None:
            continue
        values[cls.name] = cls.value
        if cls.preemption_policy != "Never":
            preempting.append(cls.value)
    for pod in of_group(objects, "", "Pod"):
        of_system = (text(pod, "spec", "priorityClassName") or "").startswith(_SYSTEM_CLASSES)
        if not of_system and text(pod, "spec", "preemptionPolicy") != "Never":
            preempting.append(integer(pod, "spec", "priority") or 0)
    return Classes(values, max(preempting) if values else None)


@dataclass(frozen=True, slots=True)
class Use:
    """The usage of one owner's pods in a queue."""

    owner: Owner
    queue: str
    amounts: Mapping[str, int]
    priority: int
    since: str


def beyond_limits(uses: Iterable[Use], limit: Callable[[str, str], int | None]) -> Mapping[Owner, tuple[str, str, int]]:
    """Return the owners above the limit of a queue, with the queue, the resource and the limit.

    Those with the lowest priority and the latest start exceed it.

    Args:
        uses: The usage of each owner.
        limit: Limit of a queue by its name and the resource; None without one.
    """
    found: dict[Owner, tuple[str, str, int]] = {}
    total: dict[tuple[str, str], int] = {}
    for use in sorted(uses, key=lambda use: (-use.priority, use.since, use.owner)):
        for resource, amount in sorted(use.amounts.items()):
            held = total[use.queue, resource] = total.get((use.queue, resource), 0) + amount
            most = limit(use.queue, resource)
            if amount and most is not None and held > most:
                found.setdefault(use.owner, (use.queue, resource, most))
    return found


def started_of(owned: OwnedPods) -> str:
    """Return the creation time of the first of some pods."""
    return min(text(pod, "metadata", "creationTimestamp") or "" for pod in owned.pods)
