"""Pods of a recorded watch: what each requests, its group, and when it was created, started and ended."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from apportion_api.ack import names as ack
from apportion_api.kai import names as kai
from apportion_api.koordinator import names as koordinator
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.kueue import names as kueue
from apportion_api.volcano import names as volcano
from apportion_api.yunikorn import names as yunikorn
from apportion_runtime.sim.traces.records import JobEnd, Limits, TraceJob
from apportion_runtime.sim.traces.rows import BadRow
from apportion_runtime.sim.traces.timestamps import timestamp_of
from apportion_runtime.sim.traces.watch_events import WatchedObject, mapping, mappings
from apportion_runtime.sim.traces.watched_nodes import DISK, MIB, extended_of
from apportion_runtime.snapshots.pod_requests import pod_requests

_QUEUE_LABELS = (
    kai.QUEUE_LABEL, kueue.QUEUE_LABEL, volcano.QUEUE_LABEL, yunikorn.QUEUE_LABEL, yunikorn.OLD_QUEUE_LABEL,
    koordinator.QUEUE_LABEL,
)  # fmt: skip
_QUEUE_ANNOTATIONS = (volcano.QUEUE_ANNOTATION, yunikorn.QUEUE_ANNOTATION)
_PRIORITY_LABELS = (kai.PRIORITY_CLASS_LABEL, kueue.PRIORITY_CLASS_LABEL)
_GROUP_LABELS = (kueue.POD_GROUP_LABEL, koordinator.POD_GROUP_LABEL, ack.GANG_NAME_LABEL)
_GROUP_ANNOTATIONS = (kai.POD_GROUP_ANNOTATION, volcano.GROUP_ANNOTATION, koordinator.GANG_NAME_ANNOTATION)
_GROUP_KINDS = ("Job", "PodGroup")
_ENDS: Mapping[str, JobEnd] = {"Succeeded": JobEnd.SUCCEEDED, "Failed": JobEnd.FAILED}
UNSUPPORTED = ("affinity", "topologySpreadConstraints", "resourceClaims")
"""Fields of a pod's spec that restrict its placement and are not replayed."""


@dataclass(frozen=True, slots=True)
class WatchedPod:
    """A pod.

    Attributes:
        namespace: Its namespace.
        name: The name of its group, or its own without a group.
        is_grouped: Whether it starts with the other pods of its group.
        shape: What it requests, without times and names.
        created_s: Its creation, in seconds since 1970.
        started_s: When it was scheduled; None if never.
        ended_s: When it ended or was deleted; None if it still exists.
        end: How it ended.
        unsupported: The fields of its spec that are not replayed.
    """

    namespace: str
    name: str
    is_grouped: bool
    shape: TraceJob
    created_s: float
    started_s: float | None
    ended_s: float | None
    end: JobEnd
    unsupported: tuple[str, ...]


def pod_of(watched: WatchedObject, queue: str, priority: str) -> WatchedPod:
    """Return a pod.

    Args:
        watched: The object.
        queue: Its queue.
        priority: Its priority class.

    Raises:
        BadRow: If it is not replayed, or invalid.
    """
    owner = next((o for o in mappings(watched.metadata, "ownerReferences") if o.get("controller")), {})
    spec = mapping(watched.state, "spec")
    group = _group(watched, owner)
    created_s = timestamp_of("metadata.creationTimestamp", str(watched.metadata.get("creationTimestamp") or ""))
    if created_s is None:
        raise BadRow("the pod has no metadata.creationTimestamp", "set it")
    started_s = _started_s(watched)
    ended_s, end = _end(watched, started_s)
    # Clocks of different machines may disagree by seconds.
    started_s = None if started_s is None else max(created_s, started_s)
    return WatchedPod(
        namespace=watched.namespace,
        name=group or watched.name,
        is_grouped=bool(group),
        shape=replace(_shape(watched, spec), queue=queue, priority=priority),
        created_s=created_s,
        started_s=started_s,
        ended_s=None if ended_s is None else max(ended_s, created_s, started_s or 0.0),
        end=end,
        unsupported=tuple(name for name in UNSUPPORTED if spec.get(name)),
    )


def queue_named(watched: WatchedObject) -> str:
    """Return the queue that a pod names for any engine; its namespace if it names none."""
    return _first(watched, _QUEUE_LABELS, _QUEUE_ANNOTATIONS) or watched.namespace


def priority_named(watched: WatchedObject) -> str:
    """Return the priority class that a pod names; empty if it names none."""
    return _first(watched, _PRIORITY_LABELS, ()) or str(mapping(watched.state, "spec").get("priorityClassName") or "")


def _first(watched: WatchedObject, labels: tuple[str, ...], annotations: tuple[str, ...]) -> str:
    held = (
        *(mapping(watched.metadata, "labels").get(key) for key in labels),
        *(mapping(watched.metadata, "annotations").get(key) for key in annotations),
    )
    return next((str(value) for value in held if value), "")


def _group(watched: WatchedObject, owner: Mapping[str, Any]) -> str:
    named = _first(watched, _GROUP_LABELS, _GROUP_ANNOTATIONS)
    return named or (str(owner.get("name") or "") if owner.get("kind") in _GROUP_KINDS else "")


def _shape(watched: WatchedObject, spec: Mapping[str, Any]) -> TraceJob:
    try:
        requests, limits = pod_requests(spec), pod_requests(spec, side="limits")
    except (ValueError, AttributeError, TypeError) as wrong:
        raise BadRow(f"the pod's resources are invalid ({wrong})", "correct them") from None
    gpus, gpu_milli = _gpus(watched, requests.get(GPU_RESOURCE, 0))
    memory_mib, disk_mib = math.ceil(requests.get("memory", 0) / MIB), math.ceil(requests.get(DISK, 0) / MIB)
    return TraceJob(
        name="",
        file="",
        line=0,
        queue="",
        priority="",
        cpu_milli=requests.get("cpu", 0),
        memory_mib=memory_mib,
        gpus=gpus,
        gpu_milli=gpu_milli,
        disk_mib=disk_mib,
        extended=extended_of(requests),
        limits=Limits(
            _above(limits.get("cpu", 0), requests.get("cpu", 0)),
            _above(math.ceil(limits.get("memory", 0) / MIB), memory_mib),
            _above(math.ceil(limits.get(DISK, 0) / MIB), disk_mib),
        ),
        node_selector=tuple(sorted((str(key), str(value)) for key, value in mapping(spec, "nodeSelector").items())),
        tolerations=tuple(
            tuple(sorted((str(key), str(value)) for key, value in toleration.items() if isinstance(value, str)))
            for toleration in mappings(spec, "tolerations")
        ),
    )


def _above(limit: int, request: int) -> int:
    return limit if limit > request else 0


def _gpus(watched: WatchedObject, whole: int) -> tuple[int, int]:
    """Return the devices, and the thousandths of each: whole ones, or fractions by KAI's annotations."""
    annotations = mapping(watched.metadata, "annotations")
    if annotations.get(kai.GPU_MEMORY_ANNOTATION):
        raise BadRow(f"the pod requests GPU memory ({kai.GPU_MEMORY_ANNOTATION}), which traces do not support")
    fraction = annotations.get(kai.GPU_FRACTION_ANNOTATION)
    if not fraction:
        return whole, 1000
    try:
        milli, devices = round(float(fraction) * 1000), int(annotations.get(kai.GPU_DEVICES_ANNOTATION) or 1)
    except (ValueError, OverflowError, TypeError):
        milli, devices = 0, 0
    if not (0 < milli <= 1000 and devices > 0):
        raise BadRow(
            f"{kai.GPU_FRACTION_ANNOTATION} `{fraction}` is not a fraction of a device", "correct the annotation"
        )
    return devices, milli


def _started_s(watched: WatchedObject) -> float | None:
    for condition in mappings(watched.state, "status", "conditions"):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "True":
            return timestamp_of(
                "lastTransitionTime of condition PodScheduled", str(condition.get("lastTransitionTime") or "")
            )
    return timestamp_of("status.startTime", str(mapping(watched.state, "status").get("startTime") or ""))


def _end(watched: WatchedObject, started_s: float | None) -> tuple[float | None, JobEnd]:
    """Return when a pod ended or its deletion was requested, and how it ended."""
    phase = str(mapping(watched.state, "status").get("phase") or "")
    end = _ENDS.get(phase, JobEnd.NEVER_RAN if started_s is None else JobEnd.STOPPED)
    deleted_s = timestamp_of("metadata.deletionTimestamp", str(watched.metadata.get("deletionTimestamp") or ""))
    if deleted_s is not None:
        # The timestamp is the end of the grace period, which the simulation adds itself.
        grace = watched.metadata.get("deletionGracePeriodSeconds")
        deleted_s -= grace if isinstance(grace, int) else 0
    if phase not in _ENDS and deleted_s is None and not watched.is_deleted:
        return None, JobEnd.OPEN
    known = [_finished_s(watched) if phase in _ENDS else None, deleted_s, _changed_s(watched)]
    ended_s = next((at for at in known if at is not None), None)
    if ended_s is None:
        raise BadRow("the pod ended at an unknown time")
    return ended_s, end


def _finished_s(watched: WatchedObject) -> float | None:
    states = [mapping(each, "state", "terminated") for each in mappings(watched.state, "status", "containerStatuses")]
    times = (timestamp_of("finishedAt of a container", str(state.get("finishedAt") or "")) for state in states)
    return max((at for at in times if at is not None), default=None)


def _changed_s(watched: WatchedObject) -> float | None:
    conditions = mappings(watched.state, "status", "conditions")
    times = (timestamp_of("a condition's time", str(each.get("lastTransitionTime") or "")) for each in conditions)
    return max((at for at in times if at is not None), default=None)
