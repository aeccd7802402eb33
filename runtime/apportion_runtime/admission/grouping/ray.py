"""Ray: one pod group for a cluster, job or service, with a part for the head and one for each group of workers.

Source: pkg/podgrouper/podgrouper/plugins/ray at d5bc503a.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from apportion_api.kai.names import TOPOLOGY_ANNOTATION
from apportion_api.kubernetes.operators import RAY_GROUP_LABEL, RAY_HEAD_GROUP, RAY_PRIORITY_CLASS_LABEL
from apportion_runtime.admission.grouping.default import Owners, constraint_of, group_by_default
from apportion_runtime.admission.grouping.grouping import Constraint, Grouping, Part
from apportion_runtime.admission.objects import (
    GroupingError,
    Manifest,
    Objects,
    labels_of,
    name_of,
    namespace_of,
    nested,
    text,
    whole,
)

CLUSTER_PATHS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "RayCluster": (),
    "RayJob": (("status", "rayClusterName"),),
    "RayService": (
        ("status", "activeServiceStatus", "rayClusterName"),
        ("status", "pendingServiceStatus", "rayClusterName"),
    ),
}
"""The field of each kind that names its RayCluster; a RayCluster has none."""


def group_ray(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return one pod group for the top owner, with the minima of its RayCluster."""
    cluster = _cluster(owner, objects)
    made = group_by_default(owner, pod, (), objects)
    parts = [
        Part(
            RAY_HEAD_GROUP,
            1,
            constraint=_constraint(nested(cluster, "spec", "headGroupSpec"), "headGroupSpec"),
        )
    ]
    for number, group in enumerate(nested(cluster, "spec", "workerGroupSpecs") or ()):
        part = _workers(group, number)
        if part is not None:
            parts.append(part)
    named = labels_of(owner).get(RAY_PRIORITY_CLASS_LABEL)
    if named is not None:
        made = replace(made, priority_class=named)
    made = replace(made, min_members=sum(part.min_members for part in parts))
    before = objects.get("PodGroup", made.namespace, made.name)
    if before is not None and not nested(before, "spec", "subGroups"):
        # Earlier versions of the engine created it without parts, and its pods have none.
        return made
    return made.with_parts(parts, labels_of(pod).get(RAY_GROUP_LABEL, ""))


def _cluster(owner: Manifest, objects: Objects) -> Manifest:
    kind = str(owner.get("kind"))
    paths = CLUSTER_PATHS[kind]
    if not paths:
        return owner
    # The first one present counts, even if it is empty.
    name = next((text(owner, *path) for path in paths if nested(owner, *path) is not None), "")
    version = str(owner.get("apiVersion") or "")
    cluster = objects.read(version, "RayCluster", namespace_of(owner), name) if name else None
    if cluster is None:
        raise GroupingError(
            f"failed to extract rayClusterName for {namespace_of(owner)}/{name_of(owner)} of kind {kind}. Please make "
            "sure that the ray-operator is up and a rayCluster child-object has been created"
        )
    return cluster


def _workers(group: Mapping[str, Any], number: int) -> Part | None:
    least, wanted = (
        (0, 0) if group.get("suspended") else (whole(group, "minReplicas") or 0, whole(group, "replicas") or 0)
    )
    if least > wanted:
        raise GroupingError(
            "ray-cluster replicas for a workerGroupsSpec can't be less than minReplicas. Given "
            f"{wanted} replicas and {least} minReplicas. Please fix the replicas field for group number {number}"
        )
    if not wanted:
        return None
    hosts = whole(group, "numOfHosts")
    name = text(group, "groupName") or f"worker-group-{number}"
    return Part(
        name,
        (least or wanted) * (1 if hosts is None else hosts),
        constraint=_constraint(group, f"workerGroupSpecs.{name}"),
    )


def _constraint(group: Manifest | None, what: str) -> Constraint | None:
    declared = nested(group or {}, "template", "metadata", "annotations") or {}
    found = constraint_of(declared.get)
    if found is None or not (found.required or found.preferred):
        return None
    if not found.topology:
        raise GroupingError(
            f"topology annotation ({TOPOLOGY_ANNOTATION}) is required for {what} when topology placement annotations are set"
        )
    return found
