"""The pod groups of a cycle: those of all pods without one are written in parallel, each once, then the pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from apportion_api.kai.names import POD_GROUP_ANNOTATION
from apportion_runtime.admission.grouping.grouping import Grouping
from apportion_runtime.admission.objects import GroupingError, annotations_of
from apportion_runtime.kube.cluster import Cluster, Manifest
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


@dataclass(slots=True)
class GroupedPods:
    """The pods that do not have to be grouped, kept from cycle to cycle: only pods that changed are examined again.

    Attributes:
        pods: The pods, by the identity of the object.
        groups: The namespaces and names of the pod groups of the last cycle.
        scope: The scope of the last cycle.
    """

    pods: dict[int, Manifest] = field(default_factory=dict)
    groups: set[tuple[str, str]] = field(default_factory=set)
    scope: GroupingScope | None = None

    def due(self, objects: Sequence[Manifest], grouper: PodGrouper, scope: GroupingScope) -> list[Manifest]:
        """Return the pods that may have to be grouped."""
        if scope != self.scope:
            self.scope, self.pods = scope, {}
        groups = {
            (one["metadata"].get("namespace", ""), one["metadata"]["name"])
            for one in objects
            if one["kind"] == POD_GROUP
        }
        if removed := self.groups - groups:
            self.pods = {key: pod for key, pod in self.pods.items() if _group_of(pod) not in removed}
        self.groups = groups
        pods = [one for one in objects if one["kind"] == POD]
        known = self.pods
        found: list[Manifest] = []
        for pod in [one for one in pods if id(one) not in known]:
            if _is_over(pod) or pod["spec"].get("schedulerName") != scope.scheduler or not grouper.is_due(pod):
                known[id(pod)] = pod
            else:
                found.append(pod)
        if len(known) > 2 * len(pods):
            self.pods = {id(one): one for one in pods if id(one) in known}
        return found


def group_pods(
    cluster: Cluster, pool: WritePool, scope: GroupingScope, grouped: GroupedPods, result: CycleResult
) -> Mapping[str, str]:
    """Assign every pod in scope to a pod group; return why a pod cannot be, by the pod's uid.

    Raises:
        NotLeader: If this scheduler lost its lease.
    """
    grouper = PodGrouper(cluster, scope.scheduler)
    groups: dict[tuple[str, str], Grouping] = {}
    pods: list[tuple[Manifest, Grouping]] = []
    ungrouped: dict[str, str] = {}
    for pod in grouped.due(cluster.objects(), grouper, scope):
        try:
            grouping = None if grouper.has_stored_group(pod) else grouper.grouping_of(pod)
        except GroupingError as wrong:
            ungrouped[pod["metadata"]["uid"]] = str(wrong)
        except Refused as refused:
            result.refused.append(f"{name_of(pod)}: {refused}")
        else:
            if grouping is not None and not scope.engine.is_of_pool(grouping.labels):
                # The scheduler of its shard groups it.
                grouped.pods[id(pod)] = pod
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


def _group_of(pod: Manifest) -> tuple[str, str]:
    return pod["metadata"].get("namespace", ""), annotations_of(pod).get(POD_GROUP_ANNOTATION, "")
