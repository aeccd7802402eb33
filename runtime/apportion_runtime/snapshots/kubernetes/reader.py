"""A cluster's objects as a snapshot, in the steps of the engine's cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from apportion_runtime.core.snapshot import Settings, Snapshot
from apportion_runtime.snapshots.document_loader import LocatedObject
from apportion_runtime.snapshots.faults import Fault, ObjectLocation
from apportion_runtime.snapshots.kubernetes.bindings import pending_bindings
from apportion_runtime.snapshots.kubernetes.configuration import configured
from apportion_runtime.snapshots.kubernetes.devices import Claims, Devices, dra_gpus
from apportion_runtime.snapshots.kubernetes.nodes import read_nodes
from apportion_runtime.snapshots.kubernetes.objects import (
    NODE,
    POD,
    POD_GROUP,
    QUEUE,
    Object,
    objects_by_kind,
)
from apportion_runtime.snapshots.kubernetes.pod_groups import PodGroupReader, read_topologies
from apportion_runtime.snapshots.kubernetes.pods import PodReader
from apportion_runtime.snapshots.kubernetes.queues import read_queues
from apportion_runtime.snapshots.kubernetes.read_objects import ReadObjects
from apportion_runtime.snapshots.kubernetes.terms import PodTerms
from apportion_runtime.snapshots.kubernetes.times import newest
from apportion_runtime.snapshots.kubernetes.volume_sources import ExistingVolumes
from apportion_runtime.snapshots.queue_parents import rooted

PlaceOf = Callable[[str, str], ObjectLocation | None]
"""The location of a record's object, by kind (`Pod`, `Queue`, …) and id."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster, and the location of each of its records."""

    snapshot: Snapshot
    settings: Settings
    place_of: PlaceOf
    elsewhere: frozenset[str]
    """Existing nodes that do not belong to the scheduler's part of the cluster."""


def read_cluster(
    found: Sequence[LocatedObject],
    faults: list[Fault],
    *,
    now: float | None,
    shard: str | None,
    known: ReadObjects | None = None,
) -> Cluster:
    """Return the snapshot that objects describe.

    Args:
        found: The objects.
        faults: Receives the faults.
        now: The time, in seconds since 1970; None is the newest timestamp of the objects.
        shard: The SchedulingShard to schedule.
        known: Objects that were read for another cluster or shard; receives those read here.

    Raises:
        KeyError: If the shard does not exist.
    """
    objects = objects_by_kind(found, faults, known)
    engine = configured(objects, shard, faults)
    moment = newest(objects) if now is None else now
    devices = Devices(objects["ResourceSlice"], objects["DeviceClass"], faults)
    nodes = read_nodes(objects, dra_gpus(objects["ResourceSlice"]), engine, faults)
    queues = read_queues(objects[QUEUE], engine, moment, faults)
    topologies, aliases = read_topologies(objects["Topology"])
    groups = PodGroupReader(objects["PriorityClass"], rooted(queues), aliases, engine, faults).read(objects[POD_GROUP])
    claims = Claims(objects["ResourceClaim"], devices, engine)
    names = {node.name for node in nodes}
    pods = PodReader(
        engine=engine,
        now=moment,
        nodes=names,
        groups={group.name for group in groups},
        bindings=pending_bindings(objects["BindRequest"], names),
        claims=claims,
        terms=PodTerms(objects["Namespace"]),
        existing=ExistingVolumes(objects["ConfigMap"], objects["PersistentVolumeClaim"]),
        has_zones=any(node.numa is not None for node in nodes),
        faults=faults,
    ).read(objects[POD])
    snapshot = Snapshot(
        nodes=nodes,
        queues=queues,
        pod_groups=groups,
        pods=pods,
        topologies=topologies,
        claims=claims.all(),
        devices=devices.devices,
        device_classes=devices.classes,
        now=moment,
    )
    elsewhere = frozenset(node.name for node in objects[NODE]) - names
    return Cluster(snapshot, engine.settings, _places(objects), elsewhere)


def _places(objects: Mapping[str, Sequence[Object]]) -> PlaceOf:
    known: dict[str, dict[str, ObjectLocation]] = {}

    def place_of(kind: str, id_: str) -> ObjectLocation | None:
        if kind not in known:
            known[kind] = {}
            for each in objects.get(kind, ()):
                for name in (each.name, each.metadata.get("uid"), f"{each.namespace}/{each.name}"):
                    if name:
                        known[kind].setdefault(name, each.place)
        return known[kind].get(id_)

    return place_of
