"""The scheduler's records of the API objects: read once when an object is created, updated with the object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from apportion_api.kai.names import (
    LAST_EVICTION_ANNOTATION,
    LAST_START_ANNOTATION,
    POD_GROUP_ANNOTATION,
    STALE_SINCE_ANNOTATION,
)
from apportion_api.objects import read
from apportion_runtime.admission.objects import kind_of
from apportion_runtime.core.session import Session
from apportion_runtime.core.session_cache import ClusterInfo, SessionCache
from apportion_runtime.core.snapshot import Node, Pod, PodGroup
from apportion_runtime.core.status import SUCCEEDED
from apportion_runtime.sim.api.pod_templates import PodTemplates
from apportion_runtime.snapshots.document_loader import LocatedObject
from apportion_runtime.snapshots.faults import Fault, ObjectLocation
from apportion_runtime.snapshots.kubernetes.configuration import Engine, configured
from apportion_runtime.snapshots.kubernetes.devices import Claims, Devices
from apportion_runtime.snapshots.kubernetes.nodes import read_nodes
from apportion_runtime.snapshots.kubernetes.objects import FORMS, Object, objects_by_kind
from apportion_runtime.snapshots.kubernetes.pod_groups import PodGroupReader, read_topologies
from apportion_runtime.snapshots.kubernetes.pods import PodReader
from apportion_runtime.snapshots.kubernetes.queues import read_queues
from apportion_runtime.snapshots.kubernetes.terms import PodTerms
from apportion_runtime.snapshots.kubernetes.volume_sources import ExistingVolumes
from apportion_runtime.snapshots.quantities import parse_time
from apportion_runtime.snapshots.queue_parents import rooted

Manifest = Mapping[str, Any]
_NOWHERE = ObjectLocation(0, 0)
_STAMPS = frozenset((LAST_START_ANNOTATION, LAST_EVICTION_ANNOTATION, STALE_SINCE_ANNOTATION))
_MOST_KEPT = 10_000
"""Distinct specs of pod groups whose records are kept."""


class Records:
    """The records of a cluster, ready for a cycle.

    Args:
        objects: The objects that the engine reads other than nodes, pods and pod groups.
        now: The current time, in seconds since 1970.

    Attributes:
        faults: Problems of the objects read so far.
        node_version: The number of changes of nodes.
        parents: The parent of each queue.
        leaves: The queues without children.
    """

    def __init__(self, objects: Iterable[Manifest], now: float) -> None:
        self.faults: list[Fault] = []
        found = [LocatedObject(dict(made), ObjectLocation(0, number)) for number, made in enumerate(objects)]
        known = objects_by_kind(found, self.faults)
        self.engine: Engine = configured(known, None, self.faults)
        queues = read_queues(known["Queue"], self.engine, now, self.faults)
        topologies, aliases = read_topologies(known["Topology"])
        classes = known["PriorityClass"]
        self._groups = PodGroupReader(classes, rooted(queues), aliases, self.engine, self.faults)
        self._nodes: dict[str, Node] = {}
        self._group_names: set[str] = set()
        self._groups_by_spec: dict[str, PodGroup] = {}
        self._groups_by_id: dict[int, tuple[Mapping[str, Any], PodGroup]] = {}
        self._templates = PodTemplates()
        devices = Devices(known["ResourceSlice"], known["DeviceClass"], self.faults)
        claims = Claims(known["ResourceClaim"], devices, self.engine)
        self._pods = PodReader(
            engine=self.engine,
            now=now,
            nodes=self._nodes.keys(),
            groups=self._group_names,
            bindings={},
            claims=claims,
            terms=PodTerms(known["Namespace"]),
            existing=ExistingVolumes(known["ConfigMap"], known["PersistentVolumeClaim"]),
            has_zones=False,
            faults=self.faults,
        )
        self.session_cache = SessionCache(
            self.engine.settings,
            ClusterInfo(
                queues=queues,
                topologies=topologies,
                claims=claims.all(),
                devices=devices.devices,
                device_classes=devices.classes,
            ),
        )
        self.parents: Mapping[str, str | None] = {queue.name: queue.parent for queue in queues}
        self.leaves = frozenset(self.parents.keys() - self.parents.values())
        # Pods that succeeded since the last session, by group; most of them are gone with their group before the next.
        self._succeeded: dict[str, list[Pod]] = {}
        self._nodes_changed = False
        self.node_version = 0
        # The sum of the GPUs of usable nodes while all are whole numbers, whose sum does not depend on the order.
        self._usable_gpus: float | None = 0.0
        self._n_usable = 0

    @property
    def usable_gpus(self) -> float:
        """The GPUs of the nodes that take pods."""
        if not self._n_usable:
            return 0
        return sum(map(_usable_gpus, self._nodes.values())) if self._usable_gpus is None else self._usable_gpus

    def usable_gpus_of(self, name: str) -> float:
        """Return the GPUs of a node; 0 if it does not exist or takes no pods."""
        return _usable_gpus(self._nodes.get(name))

    def _count_gpus(self, before: Node | None, node: Node | None) -> None:
        self._n_usable += _is_usable(node) - _is_usable(before)
        if self._usable_gpus is not None:
            change = _usable_gpus(node) - _usable_gpus(before)
            self._usable_gpus = self._usable_gpus + change if change.is_integer() else None

    def open(self, now: float, *, decides: bool = True) -> Session:
        """Return a session on the current state of the cluster; its nodes are only current if actions will run."""
        if self._nodes_changed:
            nodes = tuple(self._nodes[name] for name in sorted(self._nodes))
            self.session_cache.set_cluster_info(replace(self.session_cache.cluster_info, nodes=nodes))
            self._nodes_changed = False
        for pods in self._succeeded.values():
            for pod in pods:
                # It holds no node and no GPU.
                self.session_cache.put_pod(pod.in_state(SUCCEEDED, None, (), pod.nominated_node))
        self._succeeded.clear()
        return self.session_cache.open(now, decides=decides)

    @property
    def nodes(self) -> Mapping[str, Node]:
        """The nodes by name."""
        return self._nodes

    def read_node(self, made: Manifest) -> Node | None:
        """Return the record of a node; None if the node is not part of the scheduler's shard."""
        read = read_nodes({"Node": [_object(made)], "NodeResourceTopology": []}, {}, self.engine, self.faults)
        return read[0] if read else None

    def put_node(self, made: Manifest) -> None:
        """Read a node."""
        read = self.read_node(made)
        if read is not None:
            self._count_gpus(self._nodes.get(read.name), read)
            self._nodes[read.name] = read
            self._nodes_changed = True
            self.node_version += 1

    def drop_node(self, name: str) -> None:
        """Forget a node."""
        before = self._nodes.pop(name, None)
        if before is not None:
            self._count_gpus(before, None)
            self._nodes_changed = True
            self.node_version += 1

    def put_group(self, made: Manifest) -> PodGroup | None:
        """Read a pod group; None if the engine ignores it. The scheduler's annotations of it are kept."""
        name = made["metadata"]["name"]
        before = self.session_cache.groups().get(name)
        group = self._read_group(made)
        if group is None:
            return None
        if before is not None:
            group = group.at(before.last_start, before.last_eviction, before.stale_since)
        self._group_names.add(name)
        self.session_cache.put_group(group)
        return group

    def _read_group(self, made: Manifest) -> PodGroup | None:
        metadata = made["metadata"]
        annotations, labels = metadata.get("annotations") or {}, metadata.get("labels") or {}
        if "status" in made or not _STAMPS.isdisjoint(annotations) or not self.engine.is_of_pool(labels):
            return next(iter(self._groups.read([_object(made)])), None)
        # Besides its identity, the record depends on the spec only.
        known = self._known_group(made["spec"])
        if known is not None:
            created = parse_time(metadata["creationTimestamp"])
            return known.like(metadata["name"], metadata.get("namespace") or "", created)
        n_faults = len(self.faults)
        (group,) = self._groups.read([_object(made)])
        if len(self.faults) == n_faults:
            if len(self._groups_by_spec) >= _MOST_KEPT:
                self._groups_by_spec.clear()
            self._groups_by_spec[repr(made["spec"])] = group
        return group

    def _known_group(self, spec: Mapping[str, Any]) -> PodGroup | None:
        """Return the record of a group with the same spec, which the groups of similar Jobs share."""
        found = self._groups_by_id.get(id(spec))
        if found is not None and found[0] is spec:
            return found[1]
        known = self._groups_by_spec.get(repr(spec))
        if known is not None:
            if len(self._groups_by_id) >= _MOST_KEPT:
                self._groups_by_id.clear()
            self._groups_by_id[id(spec)] = spec, known
        return known

    def only_binds_changed(self) -> bool:
        """Return whether nothing changed since the last session except what it decided; see `SessionCache.only_binds_changed`."""
        return not self._nodes_changed and not self._succeeded and self.session_cache.only_binds_changed()

    def set_times(self, group: PodGroup) -> None:
        """Replace the record of a pod group by one with the times that a session set."""
        self.session_cache.set_times(group)

    def drop_group(self, name: str) -> None:
        """Forget a pod group and its pods."""
        self._succeeded.pop(name, None)
        if name in self.session_cache.groups():
            self._group_names.discard(name)
            self.session_cache.drop_group(name)

    def read_pod(self, made: Manifest) -> Pod:
        """Return the record of a pod, without adding it."""
        return self._pods.read([_object(made)])[0]

    def put_new_pod(self, made: Manifest) -> Pod:
        """Read a new pod whose annotation names a pod group."""
        if made["metadata"]["annotations"][POD_GROUP_ANNOTATION] not in self._group_names:
            return self.put_pod(made)
        known = self._templates.record_of(made)
        if known is not None:
            return self.set_pod(known)
        n_faults = len(self.faults)
        record = self.put_pod(made)
        if len(self.faults) == n_faults:
            self._templates.note(made, record)
        return record

    def put_pod(self, made: Manifest) -> Pod:
        """Read a pod."""
        pod = self.read_pod(made)
        self.session_cache.put_pod(pod)
        return pod

    def set_pod(self, pod: Pod) -> Pod:
        """Replace the record of a pod, and return it."""
        self.session_cache.put_pod(pod)
        return pod

    def set_bound(self, pod: Pod) -> Pod:
        """Replace the record of a pod that was bound as the session decided, and return it."""
        self.session_cache.put_bound(pod)
        return pod

    def put_succeeded(self, pod: Pod) -> None:
        """Add a pod that was dropped because it succeeded; it is added to the next session if its group still exists."""
        if pod.group is not None:
            self._succeeded.setdefault(pod.group, []).append(pod)

    def drop_pod(self, pod: Pod) -> None:
        """Forget a pod."""
        if pod.uid in self.session_cache.pods_of(pod.group or ""):
            self.session_cache.drop_pod(pod)


def _is_usable(node: Node | None) -> bool:
    return node is not None and node.ready and not node.unschedulable


def _usable_gpus(node: Node | None) -> float:
    return node.allocatable.get("gpu", 0.0) if node is not None and _is_usable(node) else 0.0


def _object(made: Manifest) -> Object:
    metadata = made["metadata"]
    form = FORMS.get(kind_of(made))
    typed = None if form is None else read(form, made)
    return Object(made["kind"], metadata.get("namespace") or "", metadata["name"], made, _NOWHERE, typed)
