"""Parses texts to a snapshot: the documented format, or the objects of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from apportion_api.kai.names import GPU_FRACTION_ANNOTATION, GROUP, POD_GROUP_ANNOTATION, SUB_GROUP_LABEL
from apportion_runtime.core.snapshot import Queue, Settings, Snapshot
from apportion_runtime.snapshots.codec import Malformed
from apportion_runtime.snapshots.document import KIND, is_snapshot, read_document
from apportion_runtime.snapshots.document_loader import LocatedObject, Source, load
from apportion_runtime.snapshots.faults import UNREADABLE, Fault, ObjectLocation, Path
from apportion_runtime.snapshots.kubernetes.objects import KINDS
from apportion_runtime.snapshots.kubernetes.reader import read_cluster
from apportion_runtime.snapshots.queue_amounts import negative_amounts, negative_runtimes
from apportion_runtime.snapshots.queue_parents import unreadable_queues
from apportion_runtime.snapshots.record_locations import RecordLocations
from apportion_runtime.snapshots.snapshot_checks import check_snapshot
from apportion_runtime.snapshots.source_lines import located

_OF_OBJECTS: Mapping[str, Path] = {
    "name": ("metadata", "name"),
    "node": ("spec", "nodeName"),
    "group": ("metadata", "annotations", POD_GROUP_ANNOTATION),
    "sub_group": ("metadata", "labels", SUB_GROUP_LABEL),
    "gpu_groups": ("metadata", "annotations", GPU_FRACTION_ANNOTATION),
    "queue": ("spec", "queue"),
    "parent": ("spec", "parentQueue"),
    "allocatable": ("status", "allocatable"),
    "allocation": ("status", "allocation"),
}
_OF_DOCUMENT: Mapping[str, Path] = {
    "name": ("name",),
    "node": ("node",),
    "group": ("group",),
    "sub_group": ("subGroup",),
    "gpu": ("gpu",),
    "gpu_groups": ("gpu",),
    "request": ("request",),
    "queue": ("queue",),
    "parent": ("parent",),
    "allocatable": ("allocatable",),
    "gpu_memory": ("gpuMemory",),
    "allocation": ("allocation",),
}
_SECTIONS = {
    "Node": "nodes",
    "Queue": "queues",
    "PodGroup": "podGroups",
    "Pod": "pods",
    "Topology": "topologies",
    "ResourceClaim": "claims",
    "Device": "devices",
}


@dataclass(frozen=True, slots=True)
class SnapshotReading:
    """The result of parsing: a snapshot, or None if the texts contain none, and its faults.

    `objects` are the objects of the cluster, with the fields that a cycle does not read; a document has none.
    """

    snapshot: Snapshot | None
    settings: Settings
    faults: tuple[Fault, ...]
    objects: Sequence[Mapping[str, Any]] = ()


def read_snapshot(sources: Sequence[Source], *, now: float | None = None, shard: str | None = None) -> SnapshotReading:
    """Return the snapshot of some texts.

    Args:
        sources: The texts.
        now: The time of the cycle, in seconds since 1970; None is the snapshot's own.
        shard: The SchedulingShard to schedule, if the texts have more than one.

    Raises:
        KeyError: If the shard does not exist.
    """
    found, faults = load(sources)
    documents = [each for each in found if is_snapshot(each.data)]
    if documents:
        return _read_document(documents, found, sources, faults, now)
    cluster = read_cluster(found, faults, now=now, shard=shard)
    if not faults and not any((cluster.snapshot.nodes, cluster.snapshot.queues, cluster.snapshot.pods)):
        faults.append(_nothing(sources))
    places = RecordLocations(cluster.place_of, _OF_OBJECTS)
    faults += check_snapshot(cluster.snapshot, places, cluster.elsewhere, unreadable_queues(faults))
    objects = [each.data for each in found]
    return SnapshotReading(cluster.snapshot, cluster.settings, located(faults, sources), objects)


def read_objects(objects: Iterable[Mapping[str, Any]], *, now: float, shard: str | None = None) -> SnapshotReading:
    """Return the snapshot of objects that are not from a text; their faults have no line.

    Args:
        objects: The objects of a cluster.
        now: The time of the cycle, in seconds since 1970.
        shard: The SchedulingShard to schedule, if there is more than one.

    Raises:
        KeyError: If the shard does not exist.
    """
    faults: list[Fault] = []
    found = [LocatedObject(dict(one), ObjectLocation(0, number)) for number, one in enumerate(objects)]
    cluster = read_cluster(found, faults, now=now, shard=shard)
    places = RecordLocations(cluster.place_of, _OF_OBJECTS)
    faults += check_snapshot(cluster.snapshot, places, cluster.elsewhere, unreadable_queues(faults))
    return SnapshotReading(cluster.snapshot, cluster.settings, tuple(replace(fault, place=None) for fault in faults))


def _read_document(
    documents: Sequence[LocatedObject],
    found: Sequence[LocatedObject],
    sources: Sequence[Source],
    faults: list[Fault],
    now: float | None,
) -> SnapshotReading:
    data, place = documents[0]
    if len(found) > 1:
        message = f"a document of kind {KIND} must be the only object, but {len(found)} objects were found"
        faults.append(Fault(UNREADABLE, KIND, message, "pass only the document", documents[-1].place))
    try:
        snapshot, settings = read_document(data)
    except Malformed as wrong:
        hint = "see docs/snapshot.md, or apportion schema --for snapshot"
        faults.append(Fault(UNREADABLE, _address(data, wrong.path), _said(wrong), hint, place.at(*wrong.path)))
        return SnapshotReading(None, Settings(), located(faults, sources))
    if now is not None:
        snapshot = replace(snapshot, now=now)
    places = RecordLocations(_places(data, place), _OF_DOCUMENT)
    faults += check_snapshot(snapshot, places)
    for queue in snapshot.queues:
        at = places.at("Queue", queue.name)
        faults += (
            *negative_amounts(queue.name, at, _amounts(queue)),
            *negative_runtimes(queue.name, at, _runtimes(queue)),
        )
    return SnapshotReading(snapshot, settings, located(faults, sources))


def _amounts(queue: Queue) -> Iterator[tuple[Path, float]]:
    for name, of in (("cpu", queue.cpu), ("memory", queue.memory), ("gpu", queue.gpu)):
        yield from (((name, "quota"), of.quota), ((name, "limit"), of.limit), ((name, "weight"), of.weight))


def _runtimes(queue: Queue) -> Iterator[tuple[Path, float, float]]:
    for key, seconds in (
        ("preemptMinRuntime", queue.preempt_min_runtime),
        ("reclaimMinRuntime", queue.reclaim_min_runtime),
    ):
        if seconds is not None:
            yield (key,), seconds, seconds


def _nothing(sources: Sequence[Source]) -> Fault:
    kinds = ", ".join(sorted({kind for group, kind in KINDS if group in ("", GROUP)}))
    name = sources[0].name if sources else "-"
    hint = f"pass objects of these kinds: {kinds}"
    return Fault(UNREADABLE, name, "the snapshot contains no nodes, queues or pods", hint, None, name)


def _said(wrong: Malformed) -> str:
    dotted = ""
    for step in wrong.path:
        dotted += f"[{step}]" if isinstance(step, int) else f".{step}" if dotted else step
    return f"`{dotted}`: {wrong.message}" if dotted else wrong.message


def _address(data: Mapping[str, Any], path: Path) -> str:
    match path:
        case (str() as section, int() as number, *_):
            item = data[section][number]
            name = item.get("name") if isinstance(item, dict) else None
            return f"{section}[{number}]" + (f" {name}" if isinstance(name, str) else "")
        case (str() as section, *_):
            return section
        case _:
            return KIND


def _places(data: Mapping[str, Any], document: ObjectLocation) -> Any:
    known: dict[str, dict[str, ObjectLocation]] = {}

    def place_of(kind: str, id_: str) -> ObjectLocation | None:
        if kind not in known:
            section = _SECTIONS[kind]
            known[kind] = {
                name: ObjectLocation(document.source, document.document, (section, number))
                for number, item in enumerate(data.get(section) or ())
                for name in _ids(kind, item)
            }
        return known[kind].get(id_)

    return place_of


def _ids(kind: str, item: Mapping[str, Any]) -> tuple[str, ...]:
    match kind:
        case "Pod" | "PodGroup":
            return (item["uid"],)
        case "ResourceClaim":
            return (f"{item['namespace']}/{item['name']}",)
        case "Device":
            return (f"{item['driver']}/{item['pool']}/{item['name']}",)
        case _:
            return (item["name"],)
