"""Volcano's objects: Queue, the configuration of its scheduler and controller, PriorityClass.

`deserved` is imported as the guarantee, `capability` as the limit, and `guarantee` as the part that is not lent. Queues
of a partitioned cluster, one for each GPU model, are merged into one. Queues with only a weight, for the plugin
proportion, keep their weight and get no guarantee.

Written for ed72c7c81 (v1.16.0-alpha.1-42).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from apportion_api.objects import read as read_object
from apportion_api.volcano.names import GROUP, HIERARCHY_ANNOTATION, ROOT_QUEUE, SHARED_QUEUE, TOPOLOGY_GROUP
from apportion_api.volcano.objects import Queue
from apportion_compiler.backends.metadata import QUEUE_ID_LABEL
from apportion_compiler.engines.volcano.emit.groups import NO_GROUP
from apportion_compiler.engines.volcano.emit.queues import TITLE_ANNOTATION
from apportion_compiler.engines.volcano.reader.amounts import DeclaredAmounts, declared_amounts_of
from apportion_compiler.engines.volcano.reader.configuration import cluster_of, topologies_of
from apportion_compiler.kubernetes_names import label_value, object_name
from apportion_compiler.plain_objects import (
    described,
    labels_of,
    mapping,
    name_of,
    of_kind,
    parents_first,
)
from apportion_compiler.pool_label_keys import GPU_MODEL_LABEL
from apportion_compiler.readers.admission import admission_facts
from apportion_compiler.readers.classes import priority_classes
from apportion_compiler.readers.namespaces import bound_namespaces, with_namespaces
from apportion_compiler.readers.objects import is_ours, own_labels, owner_of, queue_id
from apportion_compiler.readers.record import ImportRecord, Manifest, Note, PoolRecord, QueueRecord, Reader
from apportion_policy.quantity import Amount
from apportion_policy.resources import CPU, GPU, MEMORY, gpu_resource

_GROUPS = ("nodeGroupAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_UNIT = 1000


def read(manifests: Sequence[Manifest]) -> ImportRecord:
    """Import Volcano's objects among the manifests.

    Raises `ValueError` for an amount that is not a quantity or is negative.
    """
    notes: list[Note] = []
    tree = _tree([m for m in of_kind(manifests, GROUP, "Queue") if name_of(m)], notes)
    queues = {id_: _queue(id_, tree, notes) for id_ in tree.groups}
    queues, pools = _with_pools(dict(_without_sums(queues)), tree)
    ordered = tuple(parents_first({id_: queue.parent for id_, queue in queues.items()}))
    for id_ in sorted(queues.keys() - set(ordered)):
        notes.append(
            Note(
                queues[id_].object,
                "is in or below a queue cycle, where Volcano schedules nothing, so it is not imported",
            )
        )
    if queues and not bound_namespaces(manifests):
        notes.append(
            Note(
                "Queue",
                "Volcano assigns workloads to queues by field or annotation: set `namespaces` on each leaf to the namespaces that use it",
            )
        )
    for node in of_kind(manifests, TOPOLOGY_GROUP, "HyperNode"):
        notes.append(Note(described(node), "its members are dropped: declare a topology with node labels"))
    topologies = tuple(topologies_of(manifests, notes))
    cluster = cluster_of(
        manifests, [read_object(Queue, m) for group in tree.groups.values() for m in group.values()], notes
    )
    facts = admission_facts(manifests)

    def preemptible(name: str, value: int) -> bool | None:
        return None if facts is None else facts.preemptible.get(name)

    return with_namespaces(
        ImportRecord(
            queues=tuple(queues[id_] for id_ in ordered),
            priority_classes=tuple(priority_classes(manifests, preemptible)),
            pools=pools,
            topologies=topologies,
            notes=tuple(dict.fromkeys(notes)),
            cluster=cluster,
        ),
        manifests,
    )


READER = Reader("volcano", read)


@dataclass(frozen=True, slots=True)
class _Tree:
    """The objects of each queue by GPU model, starting with None, and the queue id of each object's name."""

    groups: Mapping[str, Mapping[str | None, Manifest]]
    id_of: Mapping[str, str]
    models: tuple[str, ...]


def _tree(objects: Sequence[Manifest], notes: list[Note]) -> _Tree:
    own = [m for m in objects if name_of(m) in (ROOT_QUEUE, SHARED_QUEUE)]
    for manifest in own:
        queue = read_object(Queue, manifest)
        if queue.capability or queue.deserved or queue.guarantee:
            notes.append(
                Note(described(manifest), "its amounts are dropped: a policy cannot declare Volcano's built-in queues")
            )
    rest = sorted((m for m in objects if m not in own), key=lambda m: _model(m) or "")
    labelled = {
        labels_of(m)[QUEUE_ID_LABEL]: _id(m) for m in rest if _model(m) is None and QUEUE_ID_LABEL in labels_of(m)
    }
    groups: dict[str, dict[str | None, Manifest]] = {}
    id_of: dict[str, str] = {}
    for manifest in rest:
        model, label = _model(manifest), labels_of(manifest).get(QUEUE_ID_LABEL)
        id_ = _id(manifest) if model is None or label is None else labelled.get(label, label)
        if model in groups.get(id_, {}):
            id_ = name_of(manifest)
        groups.setdefault(id_, {})[model] = manifest
        id_of[name_of(manifest)] = id_
    models = sorted({model for group in groups.values() for model in group if model is not None})
    return _Tree(groups, id_of, tuple(models))


def _id(manifest: Manifest) -> str:
    """Return the queue id of an object's name, which differs from the id for names of Volcano's own queues."""
    label = labels_of(manifest).get(QUEUE_ID_LABEL)
    if is_ours(manifest) and label in (ROOT_QUEUE, SHARED_QUEUE) and object_name(f"{label}/") == name_of(manifest):
        return label
    return queue_id(manifest)


def _model(manifest: Manifest) -> str | None:
    return labels_of(manifest).get(GPU_MODEL_LABEL) if is_ours(manifest) else None


def _queue(id_: str, tree: _Tree, notes: list[Note]) -> QueueRecord:
    """Merge the objects of a queue; fields that are not counted by model are those of the first."""
    group = tree.groups[id_]
    manifest = next(iter(group.values()))
    queue = read_object(Queue, manifest)
    for each in group.values():
        notes.extend(_unsupported_fields(each))
    declared = _amounts(group, tree, notes)
    return QueueRecord(
        id=id_,
        object=str(queue),
        parent=_parent(queue, tree, notes),
        title=queue.annotations.get(TITLE_ANNOTATION),
        owner=owner_of(manifest),
        guaranteed=declared.guaranteed,
        limit=declared.limit,
        lending_limit=declared.lending,
        weight=dict.fromkeys((CPU, MEMORY, GPU), (queue.weight or 1) * _UNIT),
        priority=queue.priority,
        pools=_usable(group),
        labels=own_labels(manifest),
    )


def _amounts(group: Mapping[str | None, Manifest], tree: _Tree, notes: list[Note]) -> DeclaredAmounts:
    if not tree.models:
        return declared_amounts_of(read_object(Queue, group[None]), notes)
    guaranteed: dict[str, Amount] = {}
    limit: dict[str, Amount] = {}
    lending: dict[str, Amount] = {}
    for model, manifest in group.items():
        declared = declared_amounts_of(read_object(Queue, manifest), notes)
        for kept, found in ((guaranteed, declared.guaranteed), (limit, declared.limit), (lending, declared.lending)):
            if model is None:
                # The tree without a model has an explicit GPU amount of 0.
                kept.update((r, amount) for r, amount in found.items() if r != GPU)
            elif GPU in found:
                kept[gpu_resource(model)] = found[GPU]
    by_model = [gpu_resource(model) for model in tree.models]
    guaranteed[GPU] = _sum(guaranteed, by_model)
    if all(resource in limit for resource in by_model):
        limit[GPU] = _sum(limit, by_model)
    return DeclaredAmounts(guaranteed, limit, lending)


def _sum(amounts: Mapping[str, Amount], resources: Sequence[str]) -> int:
    return sum(amount for r in resources if isinstance(amount := amounts.get(r, 0), int))


def _without_sums(queues: Mapping[str, QueueRecord]) -> Iterator[tuple[str, QueueRecord]]:
    """Remove the reserved amounts of an inner queue that are only the sum of its children's."""
    kept: dict[str, dict[str, int]] = {}
    for queue in queues.values():
        if queue.parent is not None:
            above = kept.setdefault(queue.parent, {})
            for resource in queue.lending_limit:
                above[resource] = above.get(resource, 0) + _reserved(queue, resource)
    for id_, queue in queues.items():
        below = kept.get(id_, {})
        own = {r: a for r, a in queue.lending_limit.items() if _reserved(queue, r) > below.get(r, 0)}
        yield id_, queue if len(own) == len(queue.lending_limit) else replace(queue, lending_limit=own)


def _reserved(queue: QueueRecord, resource: str) -> int:
    guarantee, lending_limit = queue.guaranteed.get(resource, 0), queue.lending_limit.get(resource, 0)
    return guarantee - lending_limit if isinstance(guarantee, int) and isinstance(lending_limit, int) else 0


def _parent(queue: Queue, tree: _Tree, notes: list[Note]) -> str | None:
    parent = queue.parent
    if parent is None or parent == ROOT_QUEUE:
        return None
    if parent not in tree.id_of:
        message = f"its parent {parent} is missing, so Volcano schedules nothing: imported as a top-level queue"
        if parent == SHARED_QUEUE:
            message = f"is below Volcano's built-in queue {SHARED_QUEUE}: imported as a top-level queue"
        notes.append(Note(str(queue), message))
        return None
    return tree.id_of[parent]


def _unsupported_fields(manifest: Manifest) -> Iterator[Note]:
    queue = read_object(Queue, manifest)
    if queue.reclaimable is False:
        yield Note(str(queue), "`reclaimable: false` is dropped: a policy cannot exempt borrowed capacity from reclaim")
    for field in ("nodeGroupAffinity", "nodeGroupAntiAffinity"):
        for strength in mapping(queue.affinity, field):
            if (field, strength) != _GROUPS:
                yield Note(str(queue), f"spec.affinity.{field}.{strength} is dropped")
    if HIERARCHY_ANNOTATION in queue.annotations:
        yield Note(
            str(queue),
            f"annotation {HIERARCHY_ANNOTATION}: {queue.annotations[HIERARCHY_ANNOTATION]} is dropped: only the drf plugin "
            "reads it; set spec.parent instead",
        )
    if not queue.deserved and not queue.guarantee and (queue.weight or 1) > 1:
        yield Note(
            str(queue),
            f"sets only weight {queue.weight}, which the proportion plugin uses to divide the cluster: imported as "
            "over-quota weight, without a guarantee",
        )
    if queue.state in ("Closed", "Closing"):
        yield Note(str(queue), "is closed: a policy cannot declare closed queues")


def _usable(group: Mapping[str | None, Manifest]) -> tuple[str, ...] | None:
    """Return the node groups that a queue may use, over all its objects; None if it lists none."""
    lists = [_groups(manifest) for manifest in group.values()]
    if all(found is None for found in lists):
        return None
    return tuple(sorted({name for found in lists for name in found or () if name != NO_GROUP}))


def _groups(manifest: Manifest) -> tuple[str, ...] | None:
    return read_object(Queue, manifest).node_groups


def _with_pools(
    queues: Mapping[str, QueueRecord], tree: _Tree
) -> tuple[dict[str, QueueRecord], tuple[PoolRecord, ...]]:
    """Return the pools of node groups, and the queues with the pools that they may use.

    An inner queue has no groups: it may use the pools of its descendants, and the models for which it has objects.
    """
    if _has_no_pools(tree):
        return {id_: replace(queue, pools=None) for id_, queue in queues.items()}, ()
    pools = {pool.id: pool for pool in _pools(tree)}
    lacking = set(tree.models) - {pool.gpu_model for pool in pools.values()}
    pools.update((model, PoolRecord(model, gpu_model=model)) for model in sorted(lacking))
    if len(tree.models) == 1:
        # A single model is never partitioned: there is another one, which no queue may use.
        pools[UNUSED] = PoolRecord(UNUSED, gpu_model=UNUSED)
    inner = {queue.parent for queue in queues.values()}
    usable: dict[str, set[str]] = {id_: set(queue.pools or ()) for id_, queue in queues.items() if id_ not in inner}
    if all(names == pools.keys() for names in usable.values()):
        # Groups are listed only if some queue may not use all machines.
        pools[UNUSED] = PoolRecord(UNUSED)
    for id_ in reversed(tuple(parents_first({id_: queue.parent for id_, queue in queues.items()}))):
        models = tree.groups[id_].keys()
        own = usable.setdefault(id_, set())
        if id_ in inner:
            own |= {pool.id for pool in pools.values() if pool.gpu_model is not None and pool.gpu_model in models}
        parent = queues[id_].parent
        if parent is not None:
            usable.setdefault(parent, set()).update(own)
    return (
        {id_: replace(queue, pools=tuple(sorted(usable.get(id_, ())))) for id_, queue in queues.items()},
        tuple(pools[name] for name in sorted(pools)),
    )


UNUSED = "unused"
"""The pool of machines that no queue may use."""


def _has_no_pools(tree: _Tree) -> bool:
    """Return whether the objects have no information about pools: no groups, or only one for each model."""
    return all(
        groups is None or (model is not None and groups == (label_value(model),))
        for group in tree.groups.values()
        for model, manifest in group.items()
        for groups in (_groups(manifest),)
    )


def _pools(tree: _Tree) -> Iterator[PoolRecord]:
    """Yield the groups that queues list, as pools of the GPU model of these queues."""
    models: dict[str, str | None] = {}
    for group in tree.groups.values():
        for model, manifest in group.items():
            for name in _groups(manifest) or ():
                models[name] = models.get(name) or model
    yield from (PoolRecord(name, gpu_model=model) for name, model in sorted(models.items()) if name != NO_GROUP)
