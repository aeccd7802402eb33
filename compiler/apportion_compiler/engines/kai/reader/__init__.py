"""KAI's objects: Queues of every shard merged into one queue, SchedulingShard, Topology, PriorityClass.

An emitted shard has the nodes of one GPU model, and each queue has an object in every shard whose machines it may use.
So a shard's partition is imported as a GPU model, and the objects of a queue as its amounts of each model.

Written for v0.17 at d5bc503a.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from apportion_api.kai.names import DEFAULT_SCHEDULER, INSTALLED_CLASSES, NODE_POOL_LABEL
from apportion_api.kai.objects import Queue, QueueResource, SchedulingShard, Topology
from apportion_api.objects import is_a, read_all
from apportion_api.objects import read as read_object
from apportion_compiler.backends.metadata import QUEUE_ID_LABEL
from apportion_compiler.engines.kai.reader.numbers import ACCOUNTED, amount_of, is_unlimited, weight_of
from apportion_compiler.engines.kai.reader.shards import cluster_of, is_default_shard, min_runtime, pools_of
from apportion_compiler.plain_objects import parents_first
from apportion_compiler.readers.admission import AdmissionFacts, admission_facts
from apportion_compiler.readers.classes import priority_classes
from apportion_compiler.readers.namespaces import bound_namespaces, with_namespaces
from apportion_compiler.readers.objects import own_labels, owner_of, queue_id
from apportion_compiler.readers.record import (
    ImportRecord,
    Manifest,
    Note,
    PriorityClassRecord,
    QueueRecord,
    Reader,
    TopologyRecord,
)
from apportion_policy.gpu_model import GPU_MODEL_PATTERN
from apportion_policy.priority import DEFAULT_PRIORITY_CLASSES, NON_PREEMPTIBLE_FROM
from apportion_policy.quantity import UNLIMITED, Amount
from apportion_policy.resources import CPU, GPU, MEMORY, gpu_resource

_MODEL = re.compile(GPU_MODEL_PATTERN)
_DEFAULT = ""


def read(manifests: Sequence[Manifest]) -> ImportRecord:
    """Import KAI's objects among the manifests. Raises `ValueError` for an invalid duration."""
    objects = [held for held in _objects(manifests) if held.queue.name]
    shards = _shards(objects, manifests)
    notes: list[Note] = list(_notes(shards))
    queues = {id_: _queue(id_, shards, notes) for id_ in shards.groups}
    ordered = tuple(parents_first({id_: queue.parent for id_, queue in queues.items()}))
    for id_ in sorted(queues.keys() - set(ordered)):
        notes.append(Note(queues[id_].object, "is its own ancestor; KAI drops it, so it is not imported"))
    if queues and not bound_namespaces(manifests):
        notes.append(
            Note(
                "Queue",
                "KAI assigns workloads to queues by label: set `namespaces` on each leaf to the namespaces that use it",
            )
        )
    facts = admission_facts(manifests)
    cluster = cluster_of(manifests, DEFAULT_SCHEDULER if facts is None else facts.scheduler_name, notes)
    topologies = tuple(_topologies(manifests, notes))
    return with_namespaces(
        ImportRecord(
            queues=tuple(queues[id_] for id_ in ordered),
            priority_classes=tuple(_classes(manifests, facts)),
            pools=tuple(pools_of(manifests, shards.models)),
            topologies=topologies,
            notes=tuple(dict.fromkeys(notes)),
            cluster=cluster,
        ),
        manifests,
    )


READER = Reader("kai", read, is_installed=is_default_shard)


@dataclass(frozen=True, slots=True)
class _Object:
    """A Queue manifest, and its typed reading."""

    manifest: Manifest
    queue: Queue

    @property
    def partition(self) -> str:
        return self.queue.partition

    @property
    def label(self) -> str | None:
        return self.queue.labels.get(QUEUE_ID_LABEL)


def _objects(manifests: Sequence[Manifest]) -> list[_Object]:
    return [_Object(manifest, read_object(Queue, manifest)) for manifest in manifests if is_a(Queue, manifest)]


@dataclass(frozen=True, slots=True)
class _Shards:
    """Objects by queue and by partition, and the properties of partitions.

    `id_of` is the queue of an object's name in its partition; `models` are the GPU models of the partitions, starting
    with None for the default one; no queue declares `unmanaged` resources.
    """

    groups: Mapping[str, Mapping[str, _Object]]
    id_of: Mapping[tuple[str, str], str]
    models: Mapping[str, str | None]
    unmanaged: frozenset[str]


def _shards(objects: Sequence[_Object], manifests: Sequence[Manifest]) -> _Shards:
    default = [held for held in objects if held.partition == _DEFAULT]
    names = {held.queue.name for held in default}
    labelled = {held.label: queue_id(held.manifest) for held in default if held.label is not None}
    groups: dict[str, dict[str, _Object]] = {}
    id_of: dict[tuple[str, str], str] = {}
    for held in sorted(objects, key=lambda held: held.partition):
        partition, name = held.partition, held.queue.name
        id_ = _identity(held, names, labelled)
        if partition in groups.get(id_, {}):
            id_ = name
        groups.setdefault(id_, {})[partition] = held
        id_of[partition, name] = id_
    models = _partitions(objects, manifests)
    return _Shards(groups, id_of, models, _unmanaged(objects, divided=len(models) > 1))


def _identity(held: _Object, names: AbstractSet[str], labelled: Mapping[str, str]) -> str:
    """Return the queue's id: that of the default shard's queue with the same label, or the name without a suffix."""
    if held.partition == _DEFAULT:
        return queue_id(held.manifest)
    if held.label is not None:
        return labelled.get(held.label, held.label)
    bare = held.queue.name.removesuffix(f"-{held.partition}")
    return bare if bare in names else held.queue.name


def _partitions(objects: Sequence[_Object], manifests: Sequence[Manifest]) -> Mapping[str, str | None]:
    """Return the GPU model of each shard, starting with None for the default shard."""
    named = {held.partition for held in objects}
    named |= {shard.partition for shard in read_all(SchedulingShard, manifests)}
    return {_DEFAULT: None, **{p: _model(p) for p in sorted(named) if p != _DEFAULT}}


def _model(partition: str) -> str:
    cleaned = re.sub(r"[^a-z0-9.-]+", "-", partition.lower()).strip("-.")[:40].strip("-.") or "gpu"
    return partition if _MODEL.fullmatch(partition) else cleaned


def _unmanaged(objects: Sequence[_Object], *, divided: bool) -> frozenset[str]:
    """Return the resources without a quota or limit in any queue."""
    counted = [held.queue for held in objects if not divided or held.partition == _DEFAULT]
    return (
        frozenset(r for r in ACCOUNTED if all(is_unlimited(queue, r) for queue in counted)) if counted else frozenset()
    )


def _notes(shards: _Shards) -> Iterator[Note]:
    for partition, model in shards.models.items():
        if model is not None and model != partition:
            yield Note(f"SchedulingShard {partition}", f"imported as GPU model {model}")


def _queue(id_: str, shards: _Shards, notes: list[Note]) -> QueueRecord:
    """Merge the objects of a queue; fields that are not counted by shard are those of the first."""
    group = shards.groups[id_]
    first = group[next(iter(group))]
    queue, name = first.queue, str(first.queue)
    guaranteed, limit = _amounts(group, shards, notes)
    weights = {resource: weight_of(queue, resource) for resource in ACCOUNTED}
    notes.extend(Note(name, w.note) for w in weights.values() if w.note is not None)
    return QueueRecord(
        id=id_,
        object=name,
        parent=_parent(name, group, shards, notes),
        title=queue.title,
        owner=owner_of(first.manifest),
        guaranteed=guaranteed,
        limit=limit,
        weight={resource: int(number.amount) for resource, number in weights.items()},
        priority=queue.priority,
        preempt_min_runtime=min_runtime(queue, "spec.preemptMinRuntime", queue.preempt_min_runtime, notes),
        reclaim_min_runtime=min_runtime(queue, "spec.reclaimMinRuntime", queue.reclaim_min_runtime, notes),
        pools=_usable(group, shards.models),
        labels=own_labels(first.manifest, NODE_POOL_LABEL),
    )


def _amounts(
    group: Mapping[str, _Object], shards: _Shards, notes: list[Note]
) -> tuple[Mapping[str, Amount], Mapping[str, Amount]]:
    """Return the guarantees and limits of a queue in all shards."""
    guaranteed: dict[str, Amount] = {}
    limit: dict[str, Amount] = {}
    for partition, held in group.items():
        for resource, key in _counted(partition, shards.models, group).items():
            quota, bound = amount_of(held.queue, resource, "quota"), amount_of(held.queue, resource, "limit")
            notes.extend(Note(str(held.queue), n.note) for n in (quota, bound) if n.note is not None)
            if key in shards.unmanaged:
                continue
            guaranteed[key] = quota.amount
            if bound.amount is not UNLIMITED:
                limit[key] = bound.amount
        notes.extend(_uncounted(partition, shards.models, held.queue))
    if len(shards.models) > 1:
        # A queue without an object in a shard has no GPUs of its model.
        guaranteed.update(
            (gpu_resource(model), 0)
            for partition, model in shards.models.items()
            if model is not None and partition not in group
        )
        _total(guaranteed, limit, [model for model in shards.models.values() if model is not None])
    return guaranteed, limit


def _counted(partition: str, partitions: Mapping[str, str | None], group: Mapping[str, _Object]) -> Mapping[str, str]:
    """Return the resources that an object counts for its queue, with their names in the policy."""
    if len(partitions) == 1:
        return {resource: resource for resource in ACCOUNTED}
    model = partitions[partition]
    if model is None:
        return {CPU: CPU, MEMORY: MEMORY}
    # A queue that has objects only in models' shards may have cpu and memory there.
    own = {GPU: gpu_resource(model)}
    return own if _DEFAULT in group or next(iter(group)) != partition else {**own, CPU: CPU, MEMORY: MEMORY}


def _uncounted(partition: str, partitions: Mapping[str, str | None], queue: Queue) -> Iterator[Note]:
    """Yield a note for each resource of a shard's object that the policy counts elsewhere."""
    if len(partitions) == 1:
        return
    if partition == _DEFAULT:
        if any(amount_of(queue, GPU, field).amount not in (0, UNLIMITED) for field in ("quota", "limit")):
            yield Note(
                str(queue),
                "its GPU amounts are dropped: they do not specify a model, but the policy counts GPUs by model",
            )
        return
    for resource in (CPU, MEMORY):
        if not is_unlimited(queue, resource) and queue.resource(resource) != QueueResource():
            yield Note(
                str(queue),
                f"spec.resources.{resource} applies to a single shard, but the policy counts {resource} across all shards",
            )


def _total(guaranteed: dict[str, Amount], limit: dict[str, Amount], models: Sequence[str]) -> None:
    """Return the sum of the GPUs of all models, if all are known."""
    for amounts, missing in ((guaranteed, 0), (limit, UNLIMITED)):
        parts: list[Amount] = [amounts.get(gpu_resource(model), missing) for model in models]
        if UNLIMITED not in parts:
            amounts[GPU] = sum(part for part in parts if isinstance(part, int))
        elif amounts is guaranteed:
            amounts[GPU] = UNLIMITED


def _parent(name: str, group: Mapping[str, _Object], shards: _Shards, notes: list[Note]) -> str | None:
    parents = {
        shards.id_of.get((partition, parent), parent)
        for partition, held in group.items()
        if (parent := held.queue.parent) is not None
    }
    if not parents:
        return None
    parent = min(parents)
    if len(parents) > 1:
        named = ", ".join(sorted(parents))
        notes.append(Note(name, f"has different parents in its shards ({named}): imported with parent {parent}"))
    if parent not in shards.groups:
        message = (
            f"its parent {parent} is missing, so KAI drops the queue and its descendants: imported as a top-level queue"
        )
        notes.append(Note(name, message))
        return None
    return parent


def _usable(group: Mapping[str, _Object], partitions: Mapping[str, str | None]) -> tuple[str, ...] | None:
    if all(partition in group for partition, model in partitions.items() if model is not None):
        return None
    return tuple(model or ORDINARY for partition, model in partitions.items() if model is None or partition in group)


ORDINARY = "ordinary"
"""The pool of the default shard's machines, for queues that must list their pools."""


def _classes(manifests: Sequence[Manifest], facts: AdmissionFacts | None) -> Iterator[PriorityClassRecord]:
    """Yield the existing classes, and those that KAI's chart installs."""
    declared = {} if facts is None else facts.preemptible

    def preemptible(name: str, value: int) -> bool:
        return declared.get(name, value < NON_PREEMPTIBLE_FROM)

    found = {cls.name: cls for cls in priority_classes(manifests, preemptible)}
    for cls in DEFAULT_PRIORITY_CLASSES:
        if cls.name not in found and (facts is None or cls.name in declared):
            found[cls.name] = PriorityClassRecord(
                cls.name,
                cls.value,
                preemptible(cls.name, cls.value),
                description=cls.description,
                installed_by_engine=cls.name in INSTALLED_CLASSES,
            )
    yield from sorted(found.values(), key=lambda cls: (cls.value, cls.name))


def _topologies(manifests: Sequence[Manifest], notes: list[Note]) -> Iterator[TopologyRecord]:
    for topology in read_all(Topology, manifests):
        levels = topology.levels or ()
        keys = tuple(level.label for level in levels if level.label is not None)
        if any(level.alias for level in levels):
            notes.append(Note(str(topology), "level aliases are dropped"))
        if keys:
            yield TopologyRecord(topology.name, keys)
