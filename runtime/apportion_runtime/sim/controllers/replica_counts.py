"""Replica counts of workload kinds: the field of each kind, and how scaling changes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from apportion_api.counted_nouns import counted
from apportion_runtime.admission.grouping.ray import CLUSTER_PATHS
from apportion_runtime.admission.objects import GroupingError, Objects, name_of, namespace_of, nested, text
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.controllers.pod_groups import Lookup
from apportion_runtime.sim.controllers.running_workload import Running
from apportion_runtime.sim.scenario.format import Manifest

_CONFIGS = {"RayJob": "rayClusterSpec", "RayService": "rayClusterConfig"}


def scale_objects(cluster_state: ClusterState, running: Running, replicas: int, group: str) -> None:
    """Update the objects of a workload to a number of replicas, of one group of workers or of the whole."""
    before = running.manifest
    for made in _scaled(before, replicas, group, Lookup(cluster_state)):
        cluster_state.store.update(made)
    found = cluster_state.store.get(before["kind"], namespace_of(before), name_of(before))
    assert found is not None
    running.manifest = found
    cluster_state.note(
        "scaled", workload=running.number, why=f"{group and f'{group} '}to {counted(replicas, 'replica')}"
    )


def _scaled(workload: Manifest, replicas: int, group: str, objects: Objects) -> Iterator[dict[str, Any]]:
    """Yield the objects that change when a workload, or one of its worker groups, is scaled.

    Raises:
        GroupingError: If the group does not exist.
    """
    kind = str(workload.get("kind"))
    if kind not in CLUSTER_PATHS:
        yield {**workload, "spec": {**workload["spec"], "replicas": replicas}}
        return
    if kind == "RayCluster":
        yield {**workload, "spec": _with_workers(workload["spec"], replicas, group)}
        return
    field = _CONFIGS[kind]
    spec = {**workload["spec"], field: _with_workers(workload["spec"].get(field) or {}, replicas, group)}
    yield {**workload, "spec": spec}
    name = next((found for path in CLUSTER_PATHS[kind] if (found := text(workload, *path))), "")
    cluster = objects.get("RayCluster", namespace_of(workload), name)
    if cluster is not None:
        yield {**cluster, "spec": spec[field]}


def _with_workers(spec: Mapping[str, Any], replicas: int, group: str) -> dict[str, Any]:
    groups = list(nested(spec, "workerGroupSpecs") or ())
    for number, made in enumerate(groups):
        if group in ("", made.get("groupName") or f"worker-group-{number}"):
            # KubeRay rejects fewer replicas than the minimum; its autoscaler does not go below it.
            groups[number] = {**made, "replicas": max(replicas, made.get("minReplicas") or 0)}
            return {**spec, "workerGroupSpecs": groups}
    raise GroupingError(f"worker group {group} does not exist")
