"""Objects of a small cluster, as they are stored."""

from __future__ import annotations

from typing import Any

from apportion_runtime.kube.cluster import Change, Manifest, key_of

NOW = 1_763_712_000.0


def added(made: Manifest) -> Change:
    """Return the change that an object which did not exist has been created."""
    return Change(made["kind"], key_of(made), None, made)


def node(name: str, gpus: int) -> dict[str, Any]:
    amounts = {"cpu": "32", "memory": "256Gi", "nvidia.com/gpu": str(gpus), "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {}},
        "spec": {},
        "status": {"allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def queue(name: str, parent: str | None, quota: int, limit: int = -1) -> dict[str, Any]:
    gpu = {"quota": quota, "limit": limit, "overQuotaWeight": 1}
    free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    spec: dict[str, Any] = {"resources": {"gpu": gpu, "cpu": free, "memory": free}}
    if parent:
        spec["parentQueue"] = parent
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def pod(
    name: str, queue_: str, gpus: int, *, on: str | None = None, priority: str = "train", **annotations: str
) -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": {"nvidia.com/gpu": str(gpus)} if gpus else {}}}
    spec: dict[str, Any] = {"schedulerName": "kai-scheduler", "containers": [container]}
    metadata = {
        "name": name,
        "namespace": "team",
        "uid": f"uid-{name}",
        "labels": {"kai.scheduler/queue": queue_, "priorityClassName": priority},
        "annotations": dict(annotations),
        "creationTimestamp": "2025-11-21T07:00:00Z",
    }
    if on:
        spec["nodeName"] = on
    status = {"phase": "Running" if on else "Pending"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def pod_group(name: str, queue_: str, members: int) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}"},
        "spec": {"queue": queue_, "minMember": members, "priorityClassName": "train"},
    }


def priority_class(name: str, value: int) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


TRAIN = priority_class("train", 50)
INFERENCE = priority_class("inference", 125)
TREE = (queue("all", None, 4), queue("nlp", "all", 2), queue("vision", "all", 2, 2))
