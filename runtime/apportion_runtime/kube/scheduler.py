"""One cycle of the live scheduler: groups pods, runs the cycle, and carries out the decisions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from apportion_api.kai.names import (
    DEFAULT_SCHEDULER,
    LAST_START_ANNOTATION,
    STALE_SINCE_ANNOTATION,
)
from apportion_runtime.admission.objects import GroupingError
from apportion_runtime.core.cycle import cycle
from apportion_runtime.core.explain.evictions import evictions
from apportion_runtime.core.explain.pending import pending_jobs
from apportion_runtime.core.job import Job
from apportion_runtime.core.session import Session
from apportion_runtime.core.status import BINDING
from apportion_runtime.kube.cluster import Cluster, Manifest
from apportion_runtime.kube.errors import Refused
from apportion_runtime.kube.pod_grouper import PodGrouper
from apportion_runtime.kube.pod_volumes import PodVolumes
from apportion_runtime.kube.resources import POD, POD_GROUP, VOLUME, VOLUME_CLAIM
from apportion_runtime.kube.unsupported_pods import unsupported_pods
from apportion_runtime.snapshots.document_loader import LocatedObject
from apportion_runtime.snapshots.faults import Fault, ObjectLocation
from apportion_runtime.snapshots.kubernetes.reader import read_cluster
from apportion_runtime.snapshots.quantities import time_text


@dataclass(slots=True)
class CycleResult:
    """What one cycle did, each as `namespace/name`; `refused` are writes that the API server rejected."""

    bound: list[str] = field(default_factory=list)
    evicted: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    grouped: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    faults: tuple[Fault, ...] = ()


def run_cycle(
    cluster: Cluster, now: float, *, scheduler: str = DEFAULT_SCHEDULER, shard: str | None = None
) -> CycleResult:
    """Run one cycle on the current cluster, and carry out its decisions.

    Args:
        cluster: The cluster.
        now: The current time, in seconds since 1970.
        scheduler: The `schedulerName` of its pods.
        shard: The SchedulingShard to schedule, if there is more than one.

    Raises:
        KeyError: If the shard does not exist.
    """
    result = CycleResult()
    _group(cluster, scheduler, result)
    faults: list[Fault] = []
    found = [
        LocatedObject(dict(manifest), ObjectLocation(0, number))
        for number, manifest in enumerate(_supported(cluster, scheduler, result))
    ]
    read = read_cluster(found, faults, now=now, shard=shard)
    session = cycle(read.snapshot, read.settings)
    result.faults = tuple(faults)
    _evict(cluster, session, result)
    _bind(cluster, session, result)
    _note(cluster, session, result)
    return result


def _group(cluster: Cluster, scheduler: str, result: CycleResult) -> None:
    """Assign every pod of the scheduler to a pod group."""
    grouper = PodGrouper(cluster, scheduler)
    for pod in [one for one in cluster.objects() if one["kind"] == POD]:
        if _is_over(pod) or not grouper.is_due(pod):
            continue
        try:
            if grouper.assign(pod):
                result.grouped.append(_name(pod))
        except GroupingError as wrong:
            _wait(cluster, pod, str(wrong), result)
        except Refused as refused:
            result.refused.append(f"{_name(pod)}: {refused}")


def _supported(cluster: Cluster, scheduler: str, result: CycleResult) -> Iterator[Manifest]:
    """Yield the objects of the cycle, without the pods that cannot be bound."""
    objects = cluster.objects()
    volumes = PodVolumes(objects)
    unsupported = unsupported_pods(objects, volumes, scheduler)
    for one in objects:
        if one["kind"] in (VOLUME, VOLUME_CLAIM):
            continue
        if one["kind"] != POD:
            yield one
        elif (why := unsupported.get((one["metadata"]["namespace"], one["metadata"]["name"]))) is not None:
            _wait(cluster, one, why, result)
        else:
            yield volumes.with_affinity(one)


def _evict(cluster: Cluster, session: Session, result: CycleResult) -> None:
    done: set[str] = set()
    for told in evictions(session):
        namespace, _, name = told.name.rpartition("/")
        pod = cluster.get(POD, namespace, name)
        if told.pod in done or pod is None or pod["metadata"].get("deletionTimestamp"):
            continue
        done.add(told.pod)
        try:
            cluster.evict(pod, told.message)
            result.evicted.append(told.name)
        except Refused as refused:
            result.refused.append(f"{told.name}: {refused}")


def _bind(cluster: Cluster, session: Session, result: CycleResult) -> None:
    """Bind whole gangs; a pod whose binding the API server rejects is retried in the next cycle."""
    for task in session.decided.binds:
        # A later action may have taken the pod for a victim: where it stands by then is promised for later, at best.
        if task.status != BINDING:
            continue
        pod = cluster.get(POD, task.pod.namespace, task.pod.name)
        if pod is None or pod["metadata"]["uid"] != task.uid:
            continue
        try:
            cluster.bind(pod, session.nodes.names[task.node])
            result.bound.append(_name(pod))
        except Refused as refused:
            result.refused.append(f"{_name(pod)}: {refused}")


def _note(cluster: Cluster, session: Session, result: CycleResult) -> None:
    """Write the engine's annotations to pod groups, and the pending reasons to pods."""
    for job in session.jobs_of_cycle():
        _keep_times(cluster, job, result)
    for pending in pending_jobs(session):
        why = pending.noted or "; ".join(reason.text for reason in pending.reasons)
        for task in session.jobs[pending.job].tasks.values():
            pod = cluster.get(POD, task.pod.namespace, task.pod.name)
            if why and pod is not None and not pod["spec"].get("nodeName"):
                _wait(cluster, pod, why, result)


def _keep_times(cluster: Cluster, job: Job, result: CycleResult) -> None:
    group = job.group
    wanted = {
        LAST_START_ANNOTATION: (group.last_start, job.last_start),
        STALE_SINCE_ANNOTATION: (group.stale_since, job.stale_since),
    }
    changed = {key: at if at is None else time_text(at) for key, (was, at) in wanted.items() if was != at}
    if not changed:
        return
    namespace, _, name = job.name.rpartition("/")
    try:
        cluster.merge(POD_GROUP, namespace or group.namespace, name, {"metadata": {"annotations": changed}})
    except Refused as refused:
        result.refused.append(f"PodGroup {job.name}: {refused}")


def _wait(cluster: Cluster, pod: Manifest, why: str, result: CycleResult) -> None:
    result.waiting.append(_name(pod))
    try:
        cluster.wait(pod, why)
    except Refused as refused:
        result.refused.append(f"{_name(pod)}: {refused}")


def _is_over(pod: Manifest) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed") or "deletionTimestamp" in pod["metadata"]


def _name(pod: Manifest) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
