"""The scheduler's records of a cluster, kept from cycle to cycle: only objects that changed are read again.

`open` returns the session that a snapshot of all objects would give. Changes of queues, priority classes, namespaces,
topologies, the configuration and the set of nodes are rare: they cause everything to be read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from apportion_api.kai.names import POD_GROUP_ANNOTATION
from apportion_runtime.admission.objects import annotations_of
from apportion_runtime.core.session import Session
from apportion_runtime.core.session_cache import ClusterInfo, SessionCache
from apportion_runtime.core.snapshot import Node, Pod
from apportion_runtime.kube.change_filter import is_relevant
from apportion_runtime.kube.cluster import Change, Key, Manifest
from apportion_runtime.kube.cycle_objects import CycleObjects
from apportion_runtime.kube.resources import POD, POD_GROUP
from apportion_runtime.snapshots.document_loader import LocatedObject
from apportion_runtime.snapshots.faults import Fault, ObjectLocation
from apportion_runtime.snapshots.kubernetes.configuration import Engine, configured
from apportion_runtime.snapshots.kubernetes.devices import Claims, Devices
from apportion_runtime.snapshots.kubernetes.nodes import read_nodes
from apportion_runtime.snapshots.kubernetes.objects import Object, objects_by_kind
from apportion_runtime.snapshots.kubernetes.pod_groups import PodGroupReader, read_topologies
from apportion_runtime.snapshots.kubernetes.pods import PodReader
from apportion_runtime.snapshots.kubernetes.queues import read_queues
from apportion_runtime.snapshots.kubernetes.terms import PodTerms
from apportion_runtime.snapshots.kubernetes.volume_sources import ExistingVolumes
from apportion_runtime.snapshots.queue_parents import parent_faults, rooted, unreadable_queues
from apportion_runtime.snapshots.record_locations import NOWHERE

NODE = "Node"
_FOLLOWED = frozenset((POD, POD_GROUP, NODE))
"""Kinds whose changes are followed one by one."""
_PLACE = ObjectLocation(0, 0)


@dataclass(frozen=True, slots=True)
class _Readers:
    """What reads objects, for one configuration of the cluster."""

    engine: Engine
    groups: PodGroupReader
    pods: PodReader
    nodes: dict[str, Node]
    group_names: set[str]
    cache: SessionCache
    has_equal_names: bool
    """Whether pod groups of several namespaces had one name, so that not all were read."""


class ClusterRecords:
    """The records of one cluster, as of the last cycle."""

    def __init__(self) -> None:
        self.objects = CycleObjects()
        self._readers: _Readers | None = None
        self._session: Session | None = None
        self._pods: dict[Key, Pod] = {}
        self._members: dict[str, dict[Key, None]] = {}
        self._terminating: dict[Key, None] = {}
        self._group_names: Counter[str] = Counter()
        self._faults: list[Fault] = []
        self.cluster_faults: tuple[Fault, ...] = ()
        """The faults of objects other than nodes, pod groups and pods; the same tuple until everything is read again."""
        self.queue_faults: Mapping[str, Sequence[Fault]] = {}
        """Those of each queue."""

    def reset(self) -> None:
        """Discard all records: a cycle was interrupted."""
        self._readers = None

    def open(self, *, now: float, shard: str | None) -> tuple[Session, tuple[Fault, ...]]:
        """Return a session on the objects that the cycle reads, and the faults of the pods, groups and nodes that changed.

        The session of the previous cycle must not be used any more.

        Args:
            now: The current time, in seconds since 1970.
            shard: The SchedulingShard to schedule.

        Raises:
            KeyError: If the shard does not exist.
        """
        changes = self.objects.read.changes(self)
        # The readers append to the list.
        self._faults.clear()
        self._count_groups(changes)
        readers = self._readers
        if readers is None or self._is_rebuild_due(readers, changes):
            self._readers = None
            readers = self._readers = self._rebuilt(now, shard)
        else:
            self._update(readers, changes, now)
        session, before = readers.cache.open(now), self._session
        if before is not None and before is not session:
            before.release()
        self._session = session
        return session, tuple(self._faults)

    def _count_groups(self, changes: Iterable[Change]) -> None:
        for kind, (_, name), before, after in changes:
            if kind == POD_GROUP:
                self._group_names[name] += (after is not None) - (before is not None)
                if not self._group_names[name]:
                    del self._group_names[name]

    def _is_rebuild_due(self, readers: _Readers, changes: Sequence[Change]) -> bool:
        if any(
            before is None or after is None or is_relevant(kind, before, after)
            for kind, _, before, after in changes
            if kind not in _FOLLOWED
        ):
            return True
        # The engine identifies groups by name: of several with one name, it reads the first.
        if readers.has_equal_names or self._has_equal_names():
            return True
        return not self._has_same_nodes(readers, [change for change in changes if change.kind == NODE])

    def _has_same_nodes(self, readers: _Readers, changes: Sequence[Change]) -> bool:
        """Read the nodes that changed; return False if nodes were added or removed."""
        changed: list[Manifest] = []
        for kind, _, before, after in changes:
            if before is None or after is None:
                return False
            if is_relevant(kind, before, after):
                changed.append(after)
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

    def _has_equal_names(self) -> bool:
        return len(self._group_names) < len(self._of(POD_GROUP))

    def _of(self, kind: str) -> Mapping[Key, Manifest]:
        return self.objects.read.of(kind)

    def _rebuilt(self, now: float, shard: str | None) -> _Readers:
        faults, found, of_cluster = self._faults, self._of(POD), list[Fault]()
        stored = [one for one in self.objects.read.objects() if one["kind"] != POD]
        known = _read((one for one in stored if one["kind"] not in _FOLLOWED), of_cluster)
        followed = self._read(one for one in stored if one["kind"] in _FOLLOWED)
        engine = configured(known, shard, of_cluster)
        nodes = {node.name: node for node in read_nodes({**known, NODE: followed[NODE]}, {}, engine, faults)}
        queues = read_queues(known["Queue"], engine, now, of_cluster)
        self._keep_faults((*of_cluster, *parent_faults(queues, NOWHERE, unreadable_queues(of_cluster))))
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
            # The pod grouper reports pods without a group.
            is_complete=False,
        )
        info = ClusterInfo(nodes=tuple(nodes[name] for name in sorted(nodes)), queues=queues, topologies=topologies)
        cache = SessionCache(engine.settings, info)
        readers = _Readers(engine, groups, pods, nodes, names, cache, has_equal_names=self._has_equal_names())
        self._pods, self._members, self._terminating = {}, {}, {}
        self._note_terminating(found)
        for group in groups.read(followed[POD_GROUP]):
            names.add(group.name)
            readers.cache.put_group(group)
        for key, pod in found.items():
            self._note_member(key, pod)
        self._put_pods(readers, found)
        return readers

    def _keep_faults(self, faults: tuple[Fault, ...]) -> None:
        # A list that is read again without a change of its faults keeps its identity.
        if faults != self.cluster_faults:
            self.cluster_faults = faults
        of_queues: dict[str, list[Fault]] = {}
        for fault in faults:
            kind, _, name = fault.address.partition(" ")
            if kind == "queue":
                of_queues.setdefault(name, []).append(fault)
        self.queue_faults = of_queues

    def _update(self, readers: _Readers, changes: Sequence[Change], now: float) -> None:
        readers.pods.now = now
        pods, changed = self._of(POD), [change for change in changes if change.kind == POD]
        self._note_terminating(change.key for change in changed)
        for _, key, before, after in changed:
            if before is not None:
                self._forget_member(key, before)
            if after is not None:
                self._note_member(key, after)
            record = self._pods.get(key)
            # It is removed before its group.
            if record is not None and (after is None or record.group != _group_name(after)):
                self._drop_pod(readers, key)
        # A terminating pod counts as stuck after a while.
        dirty = dict.fromkeys(chain((change.key for change in changed), self._terminating))
        dirty.update(self._update_groups(readers, [change for change in changes if change.kind == POD_GROUP]))
        self._put_pods(readers, {key: pods[key] for key in dirty if key in pods})

    def _update_groups(self, readers: _Readers, changes: Sequence[Change]) -> dict[Key, None]:
        """Follow the pod groups, and return the pods whose group appeared or disappeared."""
        made = [change.after for change in changes if change.after is not None]
        read = {group.name: group for group in readers.groups.read(self._read(made)[POD_GROUP])}
        gone = {change.key[1] for change in changes} - read.keys()
        dirty: dict[Key, None] = {}
        for name in sorted(gone & readers.group_names):
            readers.group_names.discard(name)
            dirty.update(self._members.get(name, {}))
            for key in self._members.get(name, {}):
                self._drop_pod(readers, key)
            readers.cache.drop_group(name)
        is_order_new = False
        for name, group in read.items():
            before = readers.cache.groups().get(name)
            is_order_new = is_order_new or before is None or before.namespace != group.namespace
            if before is None:
                readers.group_names.add(name)
                dirty.update(self._members.get(name, {}))
            readers.cache.put_group(group)
        if is_order_new:
            readers.cache.sort_groups()
        return dirty

    def _put_pods(self, readers: _Readers, pods: Mapping[Key, Manifest]) -> None:
        read: dict[Key, Pod] = {}
        for one in self._read(pods.values())[POD]:
            for pod in readers.pods.read((one,)):
                read[one.namespace, one.name] = pod
        for key in pods:
            before, record = self._pods.get(key), read.get(key)
            # A pod that moves to another group is removed from the former one.
            if before is not None and (record is None or (before.uid, before.group) != (record.uid, record.group)):
                self._drop_pod(readers, key)
        joined: dict[str, None] = {}
        for key, made in read.items():
            before = self._pods.get(key)
            if before != made:
                self._pods[key] = made
                readers.cache.put_pod(made)
            if before is None and made.group is not None:
                joined[made.group] = None
        readers.cache.sort_pods(joined)

    def _drop_pod(self, readers: _Readers, key: Key) -> None:
        pod = self._pods.pop(key, None)
        if pod is not None:
            readers.cache.drop_pod(pod)

    def _note_terminating(self, changed: Iterable[Key]) -> None:
        pods = self._of(POD)
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
        return _read(manifests, self._faults)


def _read(manifests: Iterable[Manifest], faults: list[Fault]) -> Mapping[str, Sequence[Object]]:
    return objects_by_kind([LocatedObject(dict(one), _PLACE) for one in manifests], faults)


def _group_name(pod: Manifest) -> str | None:
    return annotations_of(pod).get(POD_GROUP_ANNOTATION)
