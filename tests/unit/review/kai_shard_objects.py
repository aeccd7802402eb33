"""KAI objects from a description: shards of nodes, three levels of queues, and gangs of whole GPUs, parts of GPUs or CPUs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

START = 1_793_491_200
"""Seconds since the epoch at which the first object is made."""
SNAPSHOT_S = 3_600
"""Seconds from the start to the snapshot."""
POOL = "kai.scheduler/node-pool"

_Object = dict[str, Any]


def objects_of(cluster: Mapping[str, Any]) -> Iterator[_Object]:
    """Yield the objects of a described cluster."""
    for pool in cluster.get("shards", []):
        spec = {"partitionLabelValue": pool} if pool else {}
        yield {
            "apiVersion": "kai.scheduler/v1",
            "kind": "SchedulingShard",
            "metadata": {"name": pool or "default"},
            "spec": spec,
        }
    for name, said in cluster["nodes"].items():
        yield _node(name, said)
    for name, value in cluster["classes"].items():
        yield {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
    for name, said in cluster["queues"].items():
        yield _queue(name, said)
    reserved: dict[str, str] = {}
    for name, said in cluster["gangs"].items():
        yield _group(name, said)
        for number, pod in enumerate(said["pods"]):
            yield _pod(f"{name}-{number}", name, said, pod, cluster["classes"].get(said["class"], 0))
            if "groups" in pod:
                reserved.update(dict.fromkeys(pod["groups"], pod["node"]))
    for group, node in reserved.items():
        yield _reservation(group, node)


def _text(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _begun(said: Mapping[str, Any]) -> str:
    return _text(START + SNAPSHOT_S - said["age"]) if "age" in said else ""


def _pool(said: Mapping[str, Any]) -> dict[str, str]:
    return {POOL: said["pool"]} if said.get("pool") else {}


def _node(name: str, said: Mapping[str, Any]) -> _Object:
    held = {"cpu": str(said.get("cpu", 96)), "memory": f"{said.get('memory', 900)}Gi", "pods": "110"}
    labels = _pool(said)
    if said["gpus"]:
        held["nvidia.com/gpu"] = str(said["gpus"])
        labels |= {
            "nvidia.com/gpu.count": str(said["gpus"]),
            "nvidia.com/gpu.memory": str(said.get("gpu_memory", 80_000)),
        }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": held, "capacity": held, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _queue(name: str, said: Mapping[str, Any]) -> _Object:
    spec = {
        "parentQueue": said.get("parent"),
        "priority": said.get("priority"),
        "preemptMinRuntime": said.get("preempt_min_runtime"),
        "reclaimMinRuntime": said.get("reclaim_min_runtime"),
        "resources": {
            kind: dict(zip(("quota", "limit", "overQuotaWeight"), said.get(kind, [-1, -1, 1]), strict=True))
            for kind in ("cpu", "memory", "gpu")
        },
    }
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name, "creationTimestamp": _text(START + said["made"]), "labels": _pool(said)},
        "spec": {key: value for key, value in spec.items() if value is not None},
    }


def _group(name: str, said: Mapping[str, Any]) -> _Object:
    annotations = {"kai.scheduler/last-start-timestamp": _begun(said)} if "age" in said else {}
    if "stale" in said:
        annotations["kai.scheduler/stale-podgroup-timestamp"] = _text(START + SNAPSHOT_S - said["stale"])
    spec: dict[str, Any] = {"queue": said["queue"], "priorityClassName": said["class"]}
    if "minimum" in said:
        spec["minMember"] = said["minimum"]
    if "subgroups" in said:
        spec["subGroups"] = [{"name": key, "minMember": value} for key, value in said["subgroups"].items()]
    if "preemptibility" in said:
        spec["preemptibility"] = said["preemptibility"]
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {
            "name": f"pg-{name}",
            "namespace": "work",
            "uid": f"pg-{name}",
            "creationTimestamp": _text(START + said["made"]),
            "annotations": annotations,
            "labels": _pool(said),
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": name}],
        },
        "spec": spec,
    }


def _pod(name: str, gang: str, said: Mapping[str, Any], pod: Mapping[str, Any], priority: int) -> _Object:
    requests = {"cpu": str(pod.get("cpu", 1)), "memory": f"{pod.get('memory', 1)}Gi"}
    annotations, labels = {"pod-group-name": f"pg-{gang}"}, _pool(said)
    if pod.get("gpus"):
        requests["nvidia.com/gpu"] = str(pod["gpus"])
    if "fraction" in pod:
        annotations["gpu-fraction"] = pod["fraction"]
    if "gpu_memory" in pod:
        annotations["gpu-memory"] = str(pod["gpu_memory"])
    if "subgroup" in pod:
        labels["kai.scheduler/subgroup-name"] = pod["subgroup"]
    limits = {key: value for key, value in requests.items() if key.startswith("nvidia")}
    spec: dict[str, Any] = {
        "schedulerName": "kai-scheduler",
        "priorityClassName": said["class"],
        "priority": priority,
        "containers": [{"name": "main", "resources": {"requests": requests, "limits": limits}}],
    }
    status = {"phase": "Pending"}
    if "node" in pod:
        spec["nodeName"] = pod["node"]
        status = {"phase": "Running", "startTime": _begun(said)}
        for group in pod.get("groups", []):
            annotations["received-resource-type"] = "Fraction"
            labels["runai-gpu-group"] = group
        if pod.get("gpus"):
            annotations["received-resource-type"] = "Regular"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "work",
            "uid": name,
            "creationTimestamp": _text(START + said["made"]),
            "annotations": annotations,
            "labels": labels,
        },
        "spec": spec,
        "status": status,
    }


def _reservation(group: str, node: str) -> _Object:
    """Return the pod with which the binder reserves a GPU that pods share."""
    gpu = {"nvidia.com/gpu": "1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"gpu-reservation-{group}",
            "namespace": "kai-resource-reservation",
            "uid": f"reservation-{group}",
            "creationTimestamp": _text(START),
            "labels": {"app": "kai-resource-reservation", "runai-gpu-group": group},
        },
        "spec": {"nodeName": node, "containers": [{"name": "main", "resources": {"requests": gpu, "limits": gpu}}]},
        "status": {"phase": "Running", "startTime": _text(START)},
    }
