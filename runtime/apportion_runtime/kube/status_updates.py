"""Updates of the status of pod groups and queues: calculated from the cluster, and only where they change something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any

from apportion_api.kai.names import POD_GROUP_ANNOTATION
from apportion_api.kubernetes.names import GPU_MEMORY_LABEL
from apportion_runtime.kube.cluster import Manifest
from apportion_runtime.kube.pod_group_status import PodAmounts, is_preemptible, pod_amounts, resources_status
from apportion_runtime.kube.queue_status import AMOUNTS, queue_statuses
from apportion_runtime.kube.resources import POD, POD_GROUP

QUEUE = "Queue"


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
        self._known: dict[str, tuple[Manifest, PodAmounts]] = {}
        self._sums: dict[tuple[str, str], tuple[list[PodAmounts], bool, dict[str, dict[str, str]]]] = {}
        self._settled: Sequence[Manifest] = ()
        """The objects of the last cycle, if they needed no update."""

    def of(self, objects: Sequence[Manifest]) -> Iterator[StatusUpdate]:
        """Yield the updates that a cluster needs: queues first, then pod groups.

        A pod whose quantities cannot be read counts as nothing.

        Args:
            objects: Pods, PodGroups, Queues, PriorityClasses and nodes.
        """
        if len(objects) == len(self._settled) and all(map(is_, objects, self._settled)):
            return
        self._settled = ()
        is_settled = True
        for update in self._updates(objects):
            is_settled = False
            yield update
        if is_settled:
            self._settled = objects

    def _updates(self, objects: Sequence[Manifest]) -> Iterator[StatusUpdate]:
        by_kind: dict[str, list[Manifest]] = {}
        for one in objects:
            by_kind.setdefault(one["kind"], []).append(one)
        groups = by_kind.get(POD_GROUP, [])
        amounts = self._amounts(by_kind.get(POD, []), by_kind.get("Node", []))
        classes = {one["metadata"]["name"]: one for one in by_kind.get("PriorityClass", [])}
        kept, self._sums = self._sums, {}
        wanted = []
        for group in groups:
            pods, preemptible = amounts.get(_key(group), []), is_preemptible(group, classes)
            known = kept.get(_key(group))
            if known is None or known[1] is not preemptible or not _are_same(known[0], pods):
                known = (pods, preemptible, resources_status(pods, is_preemptible=preemptible))
            self._sums[_key(group)] = known
            wanted.append(known[2])
        of_queue = [
            (str(group["spec"].get("queue") or ""), status) for group, status in zip(groups, wanted, strict=True)
        ]
        statuses = queue_statuses(by_kind.get(QUEUE, []), of_queue)
        for queue in by_kind.get(QUEUE, []):
            name = queue["metadata"]["name"]
            if patch := _patch(queue.get("status") or {}, statuses[name], (*AMOUNTS, "childQueues")):
                yield StatusUpdate(QUEUE, "", name, patch)
        for group, status in zip(groups, wanted, strict=True):
            before = (group.get("status") or {}).get("resourcesStatus") or {}
            if patch := _patch(before, status, AMOUNTS):
                yield StatusUpdate(POD_GROUP, *_key(group), {"resourcesStatus": patch})

    def _amounts(self, pods: Iterable[Manifest], nodes: Iterable[Manifest]) -> dict[tuple[str, str], list[PodAmounts]]:
        """Return the amounts of the pods of each group, and cache them for the next cycle."""
        memory = {node["metadata"]["name"]: _gpu_memory(node) for node in nodes}
        before, self._known = self._known, {}
        found: dict[tuple[str, str], list[PodAmounts]] = {}
        for pod in pods:
            metadata = pod["metadata"]
            group = (metadata.get("annotations") or {}).get(POD_GROUP_ANNOTATION)
            if group is None:
                continue
            known = before.get(metadata["uid"])
            if known is None or known[0] is not pod:
                known = (pod, _readable_amounts(pod, memory))
            self._known[metadata["uid"]] = known
            found.setdefault((metadata.get("namespace") or "", group), []).append(known[1])
        return found


def _are_same(before: list[PodAmounts], after: list[PodAmounts]) -> bool:
    return len(before) == len(after) and all(map(is_, before, after))


def _readable_amounts(pod: Manifest, memory: Mapping[str, int | None]) -> PodAmounts:
    try:
        return pod_amounts(pod, memory.get)
    except ValueError:
        return PodAmounts()


def _gpu_memory(node: Manifest) -> int | None:
    written = (node["metadata"].get("labels") or {}).get(GPU_MEMORY_LABEL) or ""
    return int(written) if written.isascii() and written.isdecimal() else None


def _key(group: Manifest) -> tuple[str, str]:
    return group["metadata"].get("namespace") or "", group["metadata"]["name"]


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
