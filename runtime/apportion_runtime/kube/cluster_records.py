"""The scheduler's records of a cluster, kept from cycle to cycle: only objects that changed are read again.

`open` returns the session that a snapshot of all objects would give. Changes of queues, priority classes, namespaces,
topologies, the configuration and the set of nodes are rare: they cause everything to be read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from apportion_api.kai.names import POD_GROUP_ANNOTATION
from apportion_runtime.admission.objects import annotations_of
from apportion_runtime.core.session import Session
from apportion_runtime.core.session_cache import ClusterInfo, SessionCache
from apportion_runtime.core.snapshot import Node, Pod
from apportion_runtime.kube.change_filter import is_relevant
from apportion_runtime.kube.cluster import Key, Manifest
from apportion_runtime.kube.gpu_groups import with_readable_groups
from apportion_runtime.kube.pod_volumes import PodVolumes
from apportion_runtime.kube.resources import POD, POD_GROUP, VOLUME, VOLUME_CLAIM
from apportion_runtime.snapshots.document_loader import LocatedObject
from apportion_runtime.snapshots.faults import Fault, ObjectLocation
from apportion_runtime.snapshots.kubernetes.configuration import Engine, configured
from apportion_runtime.snapshots.kubernetes.devices import Claims, Devices
from apportion_runtime.snapshots.kubernetes.nodes import read_nodes
from apportion_runtime.snapshots.kubernetes.objects import Object, objects_by_kind
from apportion_runtime.snapshots.kubernetes.pod_groups import PodGroupReader, read_topologies
from apportion_runtime.snapshots.kubernetes.pods import PodReader
from apportion_runtime.snapshots.kubernetes.queues import read_queues
from apportion_runtime.snapshots.kubernetes.reader import rooted
from apportion_runtime.snapshots.kubernetes.terms import PodTerms
from apportion_runtime.snapshots.kubernetes.volumes import ExistingVolumes

NODE = "Node"
_FOLLOWED = frozenset((POD, POD_GROUP, NODE, VOLUME, VOLUME_CLAIM))
"""Kinds whose changes are followed one by one."""
_NOWHERE = ObjectLocation(0, 0)
_Held = dict[str, dict[Key, Manifest]]


@dataclass(frozen=True, slots=True)
class _Readers:
    """What reads objects, for one configuration of the cluster."""

    engine: Engine
    groups: PodGroupReader
    pods: PodReader
    nodes: dict[str, Node]
    group_names: set[str]
    cache: SessionCache


def pod_as_read(pod: Manifest, volumes: PodVolumes) -> Manifest:
    """Return a pod as a cycle reads it: it requires the nodes of its volumes, and its labels have all its GPU groups."""
    return volumes.with_affinity(with_readable_groups(pod))


class ClusterRecords:
    """The records of one cluster, as of the last cycle."""

    def __init__(self) -> None:
        self._held: _Held = {}
        self._readers: _Readers | None = None
        self._pods: dict[Key, Pod] = {}
        self._members: dict[str, dict[Key, None]] = {}
        self._terminating: dict[Key, None] = {}
        self._faults: list[Fault] = []

    def reset(self) -> None:
        """Forget everything: a cycle was interrupted."""
        self._readers = None

    def open(
        self, objects: Iterable[Manifest], volumes: PodVolumes, *, now: float, shard: str | None
    ) -> tuple[Session, tuple[Fault, ...]]:
        """Return a session on the current objects, and the faults of those that were read.

        Args:
            objects: The objects of the cluster. An object that changed is another mapping.
            volumes: The volumes of the cluster.
            now: The current time, in seconds since 1970.
            shard: The SchedulingShard to schedule.

        Raises:
            KeyError: If the shard does not exist.
        """
        before, self._held = self._held, _by_kind(objects)
        # The readers append to the list.
        self._faults.clear()
        readers = self._readers
        if readers is None or self._is_rebuild_due(readers, before):
            self._readers = None
            readers = self._readers = self._rebuilt(volumes, now, shard)
        else:
            self._update(readers, before, volumes, now)
        return readers.cache.open(now), tuple(self._faults)

    def _is_rebuild_due(self, readers: _Readers, before: _Held) -> bool:
        for kind in self._held.keys() | before.keys():
            if kind in _FOLLOWED:
                continue
            old, new = before.get(kind, {}), self._held.get(kind, {})
            if old.keys() != new.keys() or any(is_relevant(kind, old[key], one) for key, one in new.items()):
                return True
        # The engine identifies groups by name: of several with one name, it reads the first.
        groups = self._held.get(POD_GROUP, {})
        if len({name for _, name in groups}) < len(groups):
            return True
        return not self._has_same_nodes(readers, before)

    def _has_same_nodes(self, readers: _Readers, before: _Held) -> bool:
        """Read the nodes that changed; return False if nodes were added or removed."""
        old, new = before.get(NODE, {}), self._held.get(NODE, {})
        if old.keys() != new.keys():
            return False
        changed = [one for key, one in new.items() if old[key] is not one and is_relevant(NODE, old[key], one)]
        if not changed:
            return True
        read = read_nodes(self._read(changed), {}, readers.engine, self._faults)
        names = {one["metadata"]["name"] for one in changed}
        if {node.name for node in read} != names & readers.nodes.keys():
            return False
        readers.nodes.update((node.name, node) for node in read)
        nodes = tuple(readers.nodes[name] for name in sorted(readers.nodes))
        readers.cache.set_cluster_info(replace(readers.cache.cluster_info, nodes=nodes))
        return True

    def _rebuilt(self, volumes: PodVolumes, now: float, shard: str | None) -> _Readers:
        faults = self._faults
        known = self._read(
            one for kind, held in self._held.items() if kind not in (VOLUME, VOLUME_CLAIM, POD) for one in held.values()
        )
        engine = configured(known, shard, faults)
        nodes = {node.name: node for node in read_nodes(known, {}, engine, faults)}
        queues = read_queues(known["Queue"], engine, now, faults)
        topologies, aliases = read_topologies(known["Topology"])
        groups = PodGroupReader(known["PriorityClass"], rooted(queues), aliases, engine, faults)
        names: set[str] = set()
        pods = PodReader(
            engine=engine,
            now=now,
            nodes=nodes.keys(),
            groups=names,
            bindings={},
            claims=Claims((), Devices((), (), faults), engine),
            terms=PodTerms(known["Namespace"]),
            existing=ExistingVolumes((), ()),
            has_zones=False,
            faults=faults,
        )
        info = ClusterInfo(nodes=tuple(nodes[name] for name in sorted(nodes)), queues=queues, topologies=topologies)
        readers = _Readers(engine, groups, pods, nodes, names, SessionCache(engine.settings, info))
        self._pods, self._members, self._terminating = {}, {}, {}
        self._note_terminating(self._held.get(POD, {}), self._held.get(POD, {}))
        for group in groups.read(known[POD_GROUP]):
            names.add(group.name)
            readers.cache.put_group(group)
        for key, pod in self._held.get(POD, {}).items():
            self._note_member(key, pod)
        self._put_pods(readers, self._held.get(POD, {}), volumes)
        return readers

    def _update(self, readers: _Readers, before: _Held, volumes: PodVolumes, now: float) -> None:
        readers.pods.now = now
        old, new = before.get(POD, {}), self._held.get(POD, {})
        removed = sorted(old.keys() - new.keys())
        dirty = {key: None for key, pod in new.items() if old.get(key) is not pod}
        self._note_terminating((*removed, *dirty), new)
        # A terminating pod counts as stuck after a while.
        dirty.update(self._terminating)
        if _changed(before, self._held, VOLUME) or _changed(before, self._held, VOLUME_CLAIM):
            dirty.update((key, None) for key, pod in new.items() if pod["spec"].get("volumes"))
        for key in (*removed, *dirty):
            if (pod := old.get(key)) is not None:
                self._forget_member(key, pod)
            if key in new:
                self._note_member(key, new[key])
            record = self._pods.get(key)
            # It is removed before its group.
            if record is not None and (key not in new or record.group != _group_name(new[key])):
                self._drop_pod(readers, key)
        dirty.update(self._update_groups(readers, before))
        self._put_pods(readers, {key: new[key] for key in dirty if key in new}, volumes)

    def _update_groups(self, readers: _Readers, before: _Held) -> dict[Key, None]:
        """Follow the pod groups, and return the pods whose group appeared or disappeared."""
        old, new = before.get(POD_GROUP, {}), self._held.get(POD_GROUP, {})
        changed = [key for key, group in new.items() if old.get(key) is not group]
        read = {
            group.name: group for group in readers.groups.read(self._read([new[key] for key in changed])[POD_GROUP])
        }
        gone = {name for _, name in (*changed, *(key for key in old if key not in new))} - read.keys()
        dirty: dict[Key, None] = {}
        for name in sorted(gone & readers.group_names):
            readers.group_names.discard(name)
            dirty.update(self._members.get(name, {}))
            for key in self._members.get(name, {}):
                self._drop_pod(readers, key)
            readers.cache.drop_group(name)
        is_new = False
        for name, group in read.items():
            if name not in readers.group_names:
                is_new = True
                readers.group_names.add(name)
                dirty.update(self._members.get(name, {}))
            readers.cache.put_group(group)
        if is_new:
            readers.cache.sort_groups()
        return dirty

    def _put_pods(self, readers: _Readers, pods: Mapping[Key, Manifest], volumes: PodVolumes) -> None:
        read: dict[Key, Pod] = {}
        for one in self._read(pod_as_read(pod, volumes) for pod in pods.values())[POD]:
            for pod in readers.pods.read((one,)):
                read[one.namespace, one.name] = pod
        for key in pods:
            before, record = self._pods.get(key), read.get(key)
            # A pod that moves to another group is removed from the former one.
            if before is not None and (record is None or (before.uid, before.group) != (record.uid, record.group)):
                self._drop_pod(readers, key)
        for key, made in read.items():
            if self._pods.get(key) != made:
                self._pods[key] = made
                readers.cache.put_pod(made)

    def _drop_pod(self, readers: _Readers, key: Key) -> None:
        pod = self._pods.pop(key, None)
        if pod is not None:
            readers.cache.drop_pod(pod)

    def _note_terminating(self, changed: Iterable[Key], pods: Mapping[Key, Manifest]) -> None:
        for key in changed:
            if key in pods and "deletionTimestamp" in pods[key]["metadata"]:
                self._terminating[key] = None
            else:
                self._terminating.pop(key, None)

    def _note_member(self, key: Key, pod: Manifest) -> None:
        if name := _group_name(pod):
            self._members.setdefault(name, {})[key] = None

    def _forget_member(self, key: Key, pod: Manifest) -> None:
        name = _group_name(pod) or ""
        members = self._members.get(name)
        if members is not None:
            members.pop(key, None)
            if not members:
                del self._members[name]

    def _read(self, manifests: Iterable[Manifest]) -> Mapping[str, Sequence[Object]]:
        return objects_by_kind([LocatedObject(dict(one), _NOWHERE) for one in manifests], self._faults)


def _by_kind(objects: Iterable[Manifest]) -> _Held:
    held: _Held = {}
    for one in objects:
        metadata = one["metadata"]
        held.setdefault(one["kind"], {})[metadata.get("namespace", ""), metadata["name"]] = one
    return held


def _group_name(pod: Manifest) -> str | None:
    return annotations_of(pod).get(POD_GROUP_ANNOTATION)


def _changed(before: _Held, after: _Held, kind: str) -> bool:
    old, new = before.get(kind, {}), after.get(kind, {})
    return old.keys() != new.keys() or any(old[key] is not one for key, one in new.items())
