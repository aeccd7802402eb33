"""Requests of workloads that Volcano supports and the simulation does not: network topologies and sub-groups."""

from __future__ import annotations

from apportion_api.volcano.names import (
    BATCH_GROUP,
    GROUP_ANNOTATION,
    SCHEDULER,
    TOPOLOGY_MODE_ANNOTATION,
    TOPOLOGY_TIER_ANNOTATION,
)
from apportion_runtime.admission.objects import annotations_of, kind_of, name_of, namespace_of, nested
from apportion_runtime.sim.api.object_store import ObjectStore
from apportion_runtime.sim.scenario.format import Manifest

_POD = ("", "Pod")
_JOB = (BATCH_GROUP, "Job")


def unsupported_request(made: Manifest, store: ObjectStore) -> str | None:
    """Return the field in which a Volcano Job, or a pod that is not bound, requests such a feature."""
    spec = made.get("spec") or {}
    if kind_of(made) == _JOB:
        return _of_job(spec)
    if kind_of(made) != _POD or spec.get("schedulerName") != SCHEDULER or spec.get("nodeName"):
        return None
    annotations = annotations_of(made)
    found = next((key for key in (TOPOLOGY_MODE_ANNOTATION, TOPOLOGY_TIER_ANNOTATION) if key in annotations), None)
    if found is not None:
        return f"the annotation {found}"
    name = annotations.get(GROUP_ANNOTATION, "")
    group = (store.get("PodGroup", namespace_of(made), name) or store.get("PodGroup", "", name)) if name else None
    if group is None:
        return None
    field = next((key for key in ("networkTopology", "subGroupPolicy") if nested(group, "spec", key)), None)
    return None if field is None else f"spec.{field} of PodGroup {name_of(group)}"


def _of_job(spec: Manifest) -> str | None:
    if spec.get("networkTopology"):
        return "spec.networkTopology"
    tasks = enumerate(spec.get("tasks") or ())
    return next((f"spec.tasks[{n}].partitionPolicy" for n, task in tasks if task.get("partitionPolicy")), None)
