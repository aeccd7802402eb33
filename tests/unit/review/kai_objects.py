"""KAI objects from a short description: nodes of eight GPUs, queues, and gangs of pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

QUEUES, GROUPS = "scheduling.run.ai/v2", "scheduling.run.ai/v2alpha2"
CLASSES = {"train": 50, "build": 100, "inference": 125}


START = 1_793_491_200.0
"""Seconds since the epoch at which the first object is made; the snapshot is taken an hour later."""
SNAPSHOT_S = 3_600


def objects_of(cluster: Mapping[str, Any], start: float = START) -> Iterator[dict[str, Any]]:
    """Yield the objects of a described cluster whose first object was made at a time."""
    for number in range(cluster.get("nodes", 2)):
        held = {"cpu": "96", "memory": "900Gi", "pods": "110", "nvidia.com/gpu": "8"}
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": f"n{number}",
                "labels": {"nvidia.com/gpu.count": "8", "apportion.dev/gpu-model": "h100"},
            },
            "status": {"allocatable": held, "capacity": held, "conditions": [{"type": "Ready", "status": "True"}]},
        }
    for name, value in {**CLASSES, **cluster.get("classes", {})}.items():
        yield {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
    for number, (name, said) in enumerate(cluster["queues"].items()):
        yield _queue(name, said, _text(start + number))
    at = 0
    for number, (name, said) in enumerate(cluster.get("running", {}).items()):
        made = start + number
        begun = start + SNAPSHOT_S - said["age"] if "age" in said else made
        yield from _gang(name, said, (_text(made), _text(begun)), at)
        at += said["gpus"] * said.get("pods", 1)
    for number, (name, said) in enumerate(cluster.get("pending", {}).items()):
        made = start + 1_000 + number
        yield from _gang(name, said, (_text(made), ""), None)


def _text(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _queue(name: str, said: Mapping[str, Any], made: str) -> dict[str, Any]:
    free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    gpu = {"quota": said.get("quota", 0), "limit": said.get("limit", -1), "overQuotaWeight": said.get("weight", 1)}
    spec = {
        "resources": {"cpu": free, "memory": free, "gpu": gpu},
        "parentQueue": said.get("parent"),
        "priority": said.get("priority"),
        "preemptMinRuntime": said.get("preempt_min_runtime"),
        "reclaimMinRuntime": said.get("reclaim_min_runtime"),
    }
    metadata = {"name": name, "creationTimestamp": made, "labels": {"apportion.dev/queue-id": name}}
    return {
        "apiVersion": QUEUES,
        "kind": "Queue",
        "metadata": metadata,
        "spec": {key: value for key, value in spec.items() if value is not None},
    }


def _gang(
    name: str, said: Mapping[str, Any], times: tuple[str, str], first_gpu: int | None
) -> Iterator[dict[str, Any]]:
    """Yield a pod group that was made and begun at some times, and its pods, on the nodes from a GPU on."""
    n_pods, gpus, queue = said.get("pods", 1), said["gpus"], said["queue"]
    priority = said.get("class", "train")
    made, begun = times
    started = {"kai.scheduler/last-start-timestamp": begun} if begun else {}
    yield {
        "apiVersion": GROUPS,
        "kind": "PodGroup",
        "metadata": {
            "name": f"pg-{name}",
            "namespace": queue,
            "creationTimestamp": made,
            "annotations": started,
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": name}],
        },
        "spec": {"queue": queue, "minMember": said.get("minimum", n_pods), "priorityClassName": priority},
    }
    for n in range(n_pods):
        requests = {"nvidia.com/gpu": str(gpus)}
        spec: dict[str, Any] = {
            "schedulerName": "kai-scheduler",
            "priorityClassName": priority,
            "priority": CLASSES[priority],
            "containers": [{"name": "main", "resources": {"requests": requests, "limits": requests}}],
        }
        status: dict[str, Any] = {"phase": "Pending"}
        if first_gpu is not None:
            spec["nodeName"] = f"n{(first_gpu + n * gpus) // 8}"
            status = {"phase": "Running", "startTime": begun}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-{n}",
                "namespace": queue,
                "uid": f"{name}-{n}",
                "creationTimestamp": made,
                "annotations": {"pod-group-name": f"pg-{name}"},
            },
            "spec": spec,
            "status": status,
        }
