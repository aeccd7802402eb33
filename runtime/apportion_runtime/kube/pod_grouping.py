"""The pod groups of a cycle: those of all pods without one are written in parallel, each once, then the pods."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from apportion_runtime.admission.grouping.grouping import Grouping
from apportion_runtime.admission.objects import GroupingError
from apportion_runtime.kube.cluster import Cluster, Manifest
from apportion_runtime.kube.cycle_result import CycleResult, name_of
from apportion_runtime.kube.errors import Refused
from apportion_runtime.kube.pod_grouper import PodGrouper
from apportion_runtime.kube.resources import POD, POD_GROUP
from apportion_runtime.kube.write_pool import Priority, WritePool, results


def group_pods(cluster: Cluster, pool: WritePool, scheduler: str, result: CycleResult) -> Mapping[str, str]:
    """Assign every pod of the scheduler to a pod group; return why a pod cannot be, by the pod's uid.

    Raises:
        NotLeader: If this scheduler lost its lease.
    """
    grouper = PodGrouper(cluster, scheduler)
    groups: dict[tuple[str, str], Grouping] = {}
    pods: list[tuple[Manifest, Grouping]] = []
    ungrouped: dict[str, str] = {}
    for pod in cluster.objects():
        if pod["kind"] != POD or _is_over(pod) or not grouper.is_due(pod):
            continue
        try:
            grouping = grouper.grouping_of(pod)
        except GroupingError as wrong:
            ungrouped[pod["metadata"]["uid"]] = str(wrong)
        except Refused as refused:
            result.refused.append(f"{name_of(pod)}: {refused}")
        else:
            if grouping is not None:
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
