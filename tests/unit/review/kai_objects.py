"""KAI objects from a short description: nodes of eight GPUs, queues, and gangs of pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

QUEUES, GROUPS = "scheduling.run.ai/v2", "scheduling.run.ai/v2alpha2"
CLASSES = {"train": 50, "build": 100, "inference": 125}


def time_of(second: int) -> str:
    """A time, in seconds after the first one."""
    return f"2026-11-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


def objects_of(cluster: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a described cluster."""
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
    for name, value in CLASSES.items():
        yield {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
    for number, (name, said) in enumerate(cluster["queues"].items()):
        yield _queue(name, said, number)
    at = 0
    for number, (name, said) in enumerate(cluster.get("running", {}).items()):
        yield from _gang(name, said, number, at)
        at += said["gpus"] * said.get("pods", 1)
    for number, (name, said) in enumerate(cluster.get("pending", {}).items()):
        yield from _gang(name, said, 1000 + number, None)


def _queue(name: str, said: Mapping[str, Any], number: int) -> dict[str, Any]:
    free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    gpu = {"quota": said.get("quota", 0), "limit": said.get("limit", -1), "overQuotaWeight": said.get("weight", 1)}
    spec = {"resources": {"cpu": free, "memory": free, "gpu": gpu}, "parentQueue": said.get("parent")}
    metadata = {"name": name, "creationTimestamp": time_of(number), "labels": {"apportion.dev/queue-id": name}}
    return {
        "apiVersion": QUEUES,
        "kind": "Queue",
        "metadata": metadata,
        "spec": {key: value for key, value in spec.items() if value is not None},
    }


def _gang(name: str, said: Mapping[str, Any], number: int, first_gpu: int | None) -> Iterator[dict[str, Any]]:
    n_pods, gpus, queue = said.get("pods", 1), said["gpus"], said["queue"]
    priority = said.get("class", "train")
    made = time_of(number)
    started = {} if first_gpu is None else {"kai.scheduler/last-start-timestamp": made}
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
            status = {"phase": "Running", "startTime": made}
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
