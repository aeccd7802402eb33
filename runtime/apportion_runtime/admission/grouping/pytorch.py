"""PyTorchJobs: a part for the master and one for the workers, the latter in segments if a size is annotated.

Source: pkg/podgrouper/podgrouper/plugins/kubeflow/pytorch/pytorch_grouper.go at d5bc503a.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from apportion_api.kai.names import (
    MAX_SEGMENTS,
    SEGMENT_PREFERRED_LEVEL_ANNOTATION,
    SEGMENT_REQUIRED_LEVEL_ANNOTATION,
    SEGMENT_SIZE_ANNOTATION,
    TOPOLOGY_ANNOTATION,
)
from apportion_api.kubernetes.operators import REPLICA_INDEX_LABEL, REPLICA_TYPE_LABEL
from apportion_runtime.admission.grouping.default import Owners
from apportion_runtime.admission.grouping.grouping import Constraint, Grouping, Part
from apportion_runtime.admission.grouping.kubeflow import group_distributed
from apportion_runtime.admission.objects import (
    GroupingError,
    Manifest,
    Objects,
    annotations_of,
    labels_of,
    name_of,
    namespace_of,
    nested,
    number_in,
    text,
    whole,
)

_MASTER, _WORKER = "Master", "Worker"


def group_pytorch(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return one pod group; elastic minima count as the minimum unless the run policy sets one."""
    made = group_distributed(owner, pod, owners, objects)
    for path in (("elasticPolicy", "minReplicas"), ("runPolicy", "schedulingPolicy", "minAvailable")):
        declared = whole(owner, "spec", *path)
        if declared is not None:
            made = replace(made, min_members=declared)
    roles = nested(owner, "spec", "pytorchReplicaSpecs")
    if not isinstance(roles, Mapping):
        raise GroupingError(f"pytorchReplicaSpecs not found in PyTorchJob {namespace_of(owner)}/{name_of(owner)}")
    masters = whole(roles, _MASTER, "replicas") or 0
    role = labels_of(pod).get(REPLICA_TYPE_LABEL, "")
    role = role if role in (_MASTER.lower(), _WORKER.lower()) else ""
    parts = [Part(_MASTER.lower(), masters)] if _MASTER in roles and masters else []
    if _WORKER not in roles:
        return made.with_parts(parts, role)
    size = _segment_size(pod, roles)
    least = max(0, made.min_members - masters)
    workers = 1 if (declared := whole(roles, _WORKER, "replicas")) is None else declared
    n_segments = 0 if size is None else -(-workers // size)
    if size is None or not n_segments:
        return made.with_parts([*parts, Part(_WORKER.lower(), least)], role)
    if n_segments > MAX_SEGMENTS:
        raise GroupingError(
            f"number of subgroups created for the segmentation {n_segments} is greater than max allowed segmentation "
            f"{MAX_SEGMENTS}"
        )
    parts += _segments(workers, size, least, _segment_constraint(owner, pod, roles))
    return made.with_parts(parts, f"worker-{_index(pod) // size}" if role == _WORKER.lower() else role)


def _segments(workers: int, size: int, least: int, constraint: Constraint | None) -> list[Part]:
    count = -(-workers // size)
    needed = -(-least // size)
    rest = workers % size
    made = [Part(_WORKER.lower(), min_parts=count)]
    for i in range(count):
        members = 0 if i >= needed else rest if rest and i == count - 1 else size
        made.append(Part(f"worker-{i}", members, parent=_WORKER.lower(), constraint=constraint))
    return made


def _index(pod: Manifest) -> int:
    declared = labels_of(pod).get(REPLICA_INDEX_LABEL)
    if declared is None:
        raise GroupingError(f"replica index label not found on pod {namespace_of(pod)}/{name_of(pod)}")
    index = number_in(declared, f"replica index {declared}")
    if index < 0:
        raise GroupingError(f"replica index {declared} is not valid. It must be bigger than 0")
    return index


def _segment_size(pod: Manifest, roles: Manifest) -> int | None:
    declared = _annotated(pod, roles, SEGMENT_SIZE_ANNOTATION)
    if not declared:
        return None
    size = number_in(declared, "segment size")
    if size <= 0:
        raise GroupingError(f"segment size {declared} on worker podTemplate needs to be a positive integer")
    return size


def _segment_constraint(owner: Manifest, pod: Manifest, roles: Manifest) -> Constraint | None:
    topology = _annotated(pod, roles, TOPOLOGY_ANNOTATION) or annotations_of(owner).get(TOPOLOGY_ANNOTATION, "")
    required = _annotated(pod, roles, SEGMENT_REQUIRED_LEVEL_ANNOTATION)
    preferred = _annotated(pod, roles, SEGMENT_PREFERRED_LEVEL_ANNOTATION)
    return Constraint(topology, required, preferred) if topology and (required or preferred) else None


def _annotated(pod: Manifest, roles: Manifest, key: str) -> str:
    return annotations_of(pod).get(key) or text(roles, _WORKER, "template", "metadata", "annotations", key)
