"""Another number of replicas, written where each kind says it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from apportion_runtime.admission.grouping.ray import CLUSTER_PATHS
from apportion_runtime.admission.objects import GroupingError, Objects, namespace_of, nested, text
from apportion_runtime.sim.scenario.format import Manifest

_CONFIGS = {"RayJob": "rayClusterSpec", "RayService": "rayClusterConfig"}


def scaled(workload: Manifest, replicas: int, group: str, objects: Objects) -> Iterator[dict[str, Any]]:
    """Yield the objects that change where a workload, or one of its groups of workers, gets other replicas.

    Raises:
        GroupingError: If there is no such group.
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
            # KubeRay refuses fewer replicas than the minimum; its autoscaler lowers neither below it.
            groups[number] = {**made, "replicas": max(replicas, made.get("minReplicas") or 0)}
            return {**spec, "workerGroupSpecs": groups}
    raise GroupingError(f"there is no worker group {group}")
