"""Updates of the status of pod groups and queues: calculated from the cluster, and only where they change something."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apportion_api.kai.names import GPU_MEMORY_ANNOTATION, POD_GROUP_ANNOTATION
from apportion_api.kubernetes.names import GPU_MEMORY_LABEL
from apportion_runtime.admission.objects import annotations_of, labels_of, spec_of
from apportion_runtime.kube.cluster import Change, Key, Manifest
from apportion_runtime.kube.pod_group_status import PodAmounts, is_preemptible, pod_amounts, resources_status
from apportion_runtime.kube.queue_status import AMOUNTS, RunningSums, Sums, group_sums, queue_statuses
from apportion_runtime.kube.resources import POD, POD_GROUP

QUEUE = "Queue"
_CLASS, _NODE = "PriorityClass", "Node"


@dataclass(frozen=True, slots=True)
class StatusUpdate:
    """A merge patch of the status of an object; null removes a field."""

    kind: str
    namespace: str
    name: str
    status: Mapping[str, Any]


class StatusUpdates:
    """Calculates updates from cycle to cycle: only what changed is calculated again, and nothing if nothing did."""

    def __init__(self) -> None:
        self._held: dict[str, dict[Key, Manifest]] = {kind: {} for kind in (POD_GROUP, QUEUE, _CLASS, _NODE)}
        self._pods: dict[Key, dict[str, tuple[Manifest, PodAmounts]]] = {}
        self._wanted: dict[Key, dict[str, dict[str, str]]] = {}
        self._queue_of: dict[Key, str] = {}
        self._members: dict[str, RunningSums] = {}
        self._own: dict[str, Sums] = {}
        self._by_memory: dict[str, dict[str, Manifest]] = {}
        """The pods that request GPU memory, by node and uid."""
        self._changed: dict[Key, None] = {}
        self._open_groups: dict[Key, None] = {}
        """The pod groups whose status needs an update."""
        self._are_queues_open = False

    def of(self, changes: Sequence[Change]) -> Iterator[StatusUpdate]:
        """Yield the updates that a cluster needs: queues first, then pod groups.

        A pod whose quantities cannot be read counts as nothing.

        Args:
            changes: What changed since the last call; at first, all objects.
        """
        self._follow(changes)
        changed, self._changed = self._changed, {}
        classes = {name: one for (_, name), one in self._held[_CLASS].items()}
        stale = {queue for key in changed for queue in self._calculated(key, classes)}
        for queue in stale:
            self._own[queue] = self._members[queue].total()
            if self._members[queue].is_empty:
                del self._members[queue], self._own[queue]
        if self._are_queues_open or stale:
            updates = list(self._queue_updates())
            # An update stays open until the cluster has it.
            self._are_queues_open = bool(updates)
            yield from updates
        groups = self._held[POD_GROUP]
        patches = {key: self._patch_of(key) for key in {**self._open_groups, **changed} if key in groups}
        self._open_groups = {key: None for key, patch in patches.items() if patch}
        for key in self._open_groups:
            yield StatusUpdate(POD_GROUP, *key, {"resourcesStatus": patches[key]})

    def _follow(self, changes: Sequence[Change]) -> None:
        for kind, key, _, after in changes:
            if kind in self._held:
                if after is None:
                    del self._held[kind][key]
                else:
                    self._held[kind][key] = after
                self._note_change(kind, key)
        # The amounts of a pod depend on its node.
        for kind, _, before, after in changes:
            if kind == POD:
                if after is not None:
                    self._put_pod(after)
                if before is not None:
                    self._drop_pod(before)
        for kind, (_, name), before, after in changes:
            if kind == _NODE and _gpu_memory(before) != _gpu_memory(after):
                for pod in list(self._by_memory.get(name, {}).values()):
                    self._put_pod(pod)

    def _note_change(self, kind: str, key: Key) -> None:
        if kind == QUEUE:
            self._are_queues_open = True
        elif kind == POD_GROUP:
            self._changed[key] = None
        elif kind == _CLASS:
            self._changed.update(dict.fromkeys(self._held[POD_GROUP]))

    def _put_pod(self, pod: Manifest) -> None:
        if (key := _group_of(pod)) is not None:
            amounts = _readable_amounts(pod, self._gpu_memory_of)
            self._pods.setdefault(key, {})[pod["metadata"]["uid"]] = (pod, amounts)
            self._changed[key] = None
            if (node := _node_of_memory(pod)) is not None:
                self._by_memory.setdefault(node, {})[pod["metadata"]["uid"]] = pod

    def _drop_pod(self, pod: Manifest) -> None:
        key, uid = _group_of(pod), pod["metadata"]["uid"]
        node = _node_of_memory(pod)
        if node is not None and self._by_memory.get(node, {}).get(uid) is pod:
            del self._by_memory[node][uid]
            if not self._by_memory[node]:
                del self._by_memory[node]
        members = self._pods.get(key) if key is not None else None
        if key is None or members is None or uid not in members or members[uid][0] is not pod:
            return
        del members[uid]
        if not members:
            del self._pods[key]
        self._changed[key] = None

    def _calculated(self, key: Key, classes: Mapping[str, Manifest]) -> set[str]:
        """Calculate the status of a pod group again, and return the queues whose sums it changes."""
        group = self._held[POD_GROUP].get(key)
        before, former = self._wanted.pop(key, None), self._queue_of.pop(key, None)
        queue = None if group is None else str(spec_of(group).get("queue") or "")
        changed: set[str] = set()
        if former is not None and former != queue:
            self._members[former].drop(key)
            changed.add(former)
        if group is not None and queue is not None:
            # The suffixes of a sum depend on the order.
            pods = [amounts for _, amounts in sorted(self._pods.get(key, {}).values(), key=_name_of)]
            status = resources_status(pods, is_preemptible=is_preemptible(group, classes))
            self._wanted[key], self._queue_of[key] = status, queue
            if former != queue or status != before:
                self._members.setdefault(queue, RunningSums()).put(key, group_sums(status))
                changed.add(queue)
        return changed

    def _queue_updates(self) -> Iterator[StatusUpdate]:
        queues = self._held[QUEUE]
        statuses = queue_statuses(queues.values(), self._own)
        for (_, name), queue in queues.items():
            if patch := _patch(queue.get("status") or {}, statuses[name], (*AMOUNTS, "childQueues")):
                yield StatusUpdate(QUEUE, "", name, patch)

    def _patch_of(self, key: Key) -> dict[str, Any]:
        before = (self._held[POD_GROUP][key].get("status") or {}).get("resourcesStatus") or {}
        return _patch(before, self._wanted[key], AMOUNTS)

    def _gpu_memory_of(self, name: str) -> int | None:
        return _gpu_memory(self._held[_NODE].get(("", name)))


def _gpu_memory(node: Manifest | None) -> int | None:
    """Return the memory of a device of a node, in MiB; None if it is not known."""
    written = "" if node is None else labels_of(node).get(GPU_MEMORY_LABEL) or ""
    return int(written) if written.isascii() and written.isdecimal() else None


def _node_of_memory(pod: Manifest) -> str | None:
    """Return the node of a pod whose amounts depend on the memory of its devices."""
    return pod["spec"].get("nodeName") if GPU_MEMORY_ANNOTATION in annotations_of(pod) else None


def _name_of(member: tuple[Manifest, PodAmounts]) -> str:
    return str(member[0]["metadata"]["name"])


def _readable_amounts(pod: Manifest, gpu_memory_of: Callable[[str], int | None]) -> PodAmounts:
    try:
        return pod_amounts(pod, gpu_memory_of)
    except ValueError:
        return PodAmounts()


def _group_of(pod: Manifest) -> Key | None:
    metadata = pod["metadata"]
    name = (metadata.get("annotations") or {}).get(POD_GROUP_ANNOTATION)
    return None if name is None else (metadata.get("namespace") or "", name)


def _patch(before: Mapping[str, Any], after: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Any]:
    """Return the merge patch of some fields between two statuses."""
    patch: dict[str, Any] = {}
    for field in fields:
        old, new = before.get(field) or {}, after.get(field) or {}
        if old == new:
            continue
        if new and isinstance(old, Mapping) and isinstance(new, Mapping):
            removed: dict[str, Any] = dict.fromkeys(old.keys() - new.keys())
            patch[field] = {**removed, **{key: value for key, value in new.items() if old.get(key) != value}}
        else:
            patch[field] = new or None
    return patch
