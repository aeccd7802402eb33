"""The pod groups of a cycle: those of all pods without one are written in parallel, each once, then the pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from apportion_api.kai.names import POD_GROUP_ANNOTATION
from apportion_runtime.admission.grouping.grouping import Grouping
from apportion_runtime.admission.objects import GroupingError, annotations_of
from apportion_runtime.kube.cluster import Cluster, Key, Manifest, key_of
from apportion_runtime.kube.cycle_result import CycleResult, name_of
from apportion_runtime.kube.errors import Refused
from apportion_runtime.kube.pod_grouper import PodGrouper
from apportion_runtime.kube.resources import POD, POD_GROUP
from apportion_runtime.kube.write_pool import Priority, WritePool, results
from apportion_runtime.snapshots.kubernetes.configuration import Engine


@dataclass(frozen=True, slots=True)
class GroupingScope:
    """The pods that a scheduler groups: those with its name, of its shard.

    Attributes:
        scheduler: The `schedulerName` of the pods.
        engine: The configuration of the shard.
    """

    scheduler: str
    engine: Engine


class Ungrouped(NamedTuple):
    """A pod that cannot be grouped, by its uid, and why."""

    uid: str
    why: str


class GroupedPods:
    """The pods that may have to be grouped, kept from cycle to cycle: only pods that changed are examined again."""

    def __init__(self) -> None:
        self._scope: GroupingScope | None = None
        self._open: dict[Key, Manifest] = {}
        """Pods that are not known to have their group, and those that changed."""
        self._members: dict[Key, dict[Key, Manifest]] = {}
        """The pods that name a pod group, by its namespace and name."""
        self.absent: set[Key] = set()
        """The groups that these pods name and that do not exist, as read from the API server."""

    def due(self, cluster: Cluster, grouper: PodGrouper, scope: GroupingScope) -> list[Manifest]:
        """Return the pods that may have to be grouped."""
        for kind, key, before, after in cluster.changes(self):
            if kind == POD:
                self._follow_pod(key, before, after)
            elif kind == POD_GROUP and after is None:
                self._open.update(self._members.get(key, {}))
        if scope != self._scope:
            self._scope = scope
            self._open.update((key_of(pod), pod) for pod in cluster.objects(POD))
        found = {
            key: pod
            for key, pod in self._open.items()
            if not _is_over(pod) and pod["spec"].get("schedulerName") == scope.scheduler and grouper.is_due(pod)
        }
        self._open = found
        self.absent.intersection_update(filter(None, map(_group_of, found.values())))
        return list(found.values())

    def leave(self, pod: Manifest) -> None:
        """Do not examine a pod again before it changes."""
        self._open.pop(key_of(pod), None)

    def _follow_pod(self, key: Key, before: Manifest | None, after: Manifest | None) -> None:
        self._open.pop(key, None)
        former, group = before and _group_of(before), after and _group_of(after)
        if former and former != group:
            members = self._members[former]
            del members[key]
            if not members:
                del self._members[former]
        if after is not None:
            self._open[key] = after
            if group:
                self._members.setdefault(group, {})[key] = after


def group_pods(
    cluster: Cluster, pool: WritePool, scope: GroupingScope, grouped: GroupedPods, result: CycleResult
) -> Mapping[Key, Ungrouped]:
    """Assign every pod in scope to a pod group, and return the pods that cannot be grouped.

    Raises:
        NotLeader: If this scheduler lost its lease.
    """
    grouper = PodGrouper(cluster, scope.scheduler, grouped.absent)
    groups: dict[tuple[str, str], Grouping] = {}
    pods: list[tuple[Manifest, Grouping]] = []
    ungrouped: dict[Key, Ungrouped] = {}
    for pod in grouped.due(cluster, grouper, scope):
        try:
            grouping = None if grouper.has_stored_group(pod) else grouper.unstored_grouping_of(pod)
        except GroupingError as wrong:
            ungrouped[key_of(pod)] = Ungrouped(pod["metadata"]["uid"], str(wrong))
        except Refused as refused:
            result.refused.append(f"{name_of(pod)}: {refused}")
        else:
            if grouping is not None and not scope.engine.is_of_pool(grouping.labels):
                # The scheduler of its shard groups it.
                grouped.leave(pod)
            elif grouping is not None:
                groups[grouping.namespace, grouping.name] = grouping
                pods.append((pod, grouping))
    results([pool.submit(Priority.GROUP, partial(_put, grouper, one, result)) for one in groups.values()])
    # A pod whose group was rejected is not marked, and is tried again.
    marked = [(pod, one) for pod, one in pods if cluster.get(POD_GROUP, one.namespace, one.name) is not None]
    results([pool.submit(Priority.GROUP, partial(_mark, grouper, pod, one, result)) for pod, one in marked])
    result.grouped.sort()
    return ungrouped


def _put(grouper: PodGrouper, grouping: Grouping, result: CycleResult) -> None:
    try:
        grouper.put(grouping)
    except Refused as refused:
        result.refused.append(f"PodGroup {grouping.namespace}/{grouping.name}: {refused}")


def _mark(grouper: PodGrouper, pod: Manifest, grouping: Grouping, result: CycleResult) -> None:
    try:
        grouper.mark(pod, grouping)
        result.grouped.append(name_of(pod))
    except Refused as refused:
        result.refused.append(f"{name_of(pod)}: {refused}")


def _is_over(pod: Manifest) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed") or "deletionTimestamp" in pod["metadata"]


def _group_of(pod: Manifest) -> Key | None:
    name = annotations_of(pod).get(POD_GROUP_ANNOTATION)
    return None if name is None else (pod["metadata"].get("namespace", ""), name)
