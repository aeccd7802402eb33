"""Pods, nodes and priority classes from a short description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

CLASSES = {"low": 0, "high": 100}


def objects_of(case: Mapping[str, Any], *, is_head: bool) -> Iterator[dict[str, Any]]:
    """Yield the objects of one side: those of the head take the place of others with the same kind and name."""
    nodes = case.get("nodes", {"n": case.get("gpus", 16)})
    for name, said in nodes.items():
        if not is_head or name not in case.get("lost", ()):
            yield _node(name, said if isinstance(said, Mapping) else {"gpus": said})
    made = {_key(each): each for each in (*_classes(case), *case["objects"], *case.get("more", ()))}
    if is_head:
        made |= {_key(each): each for each in case.get("head", ())}
        for key in case.get("deleted", ()):
            del made[tuple(key)]
    yield from made.values()
    for number, (name, said) in enumerate(case["pods"].items()):
        yield _pod(name, said, number, case)


def _classes(case: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name, value in case.get("classes", CLASSES).items():
        yield {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }


def _node(name: str, said: Mapping[str, Any]) -> dict[str, Any]:
    labels = {"apportion.dev/gpu-model": "h100", "kubernetes.io/hostname": name, **said.get("labels", {})}
    held = {"cpu": "96", "memory": "900Gi", "pods": "100", "nvidia.com/gpu": str(said["gpus"])}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            **({"unschedulable": True} if said.get("cordoned") else {}),
            "taints": [{"key": key, "effect": "NoSchedule"} for key in said.get("taints", ())],
        },
        "status": {"allocatable": held, "capacity": held, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _key(made: Mapping[str, Any]) -> tuple[str, str]:
    return str(made["kind"]), str(made["metadata"]["name"])


def _pod(name: str, said: Mapping[str, Any], number: int, case: Mapping[str, Any]) -> dict[str, Any]:
    time = f"2026-11-01T00:{number // 60:02}:{number % 60:02}Z"
    class_name = said.get("class", "low")
    requests = {"nvidia.com/gpu": str(said.get("gpus", 1))}
    if "cpu" in said:
        requests["cpu"] = str(said["cpu"])
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{name}-0",
            "namespace": said.get("namespace", "a"),
            "uid": name,
            "creationTimestamp": time,
            "labels": said.get("labels", {}),
            "annotations": said.get("annotations", {}),
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": name, "controller": True}],
        },
        "spec": {
            "schedulerName": said.get("scheduler", case.get("scheduler", "default-scheduler")),
            "priorityClassName": class_name,
            "priority": case.get("classes", CLASSES).get(class_name, 0),
            "containers": [{"name": "main", "resources": {"requests": requests}}],
        },
        "status": {"phase": "Pending"},
    }
    if "selector" in said:
        pod["spec"]["nodeSelector"] = said["selector"]
    if "tolerates" in said:
        pod["spec"]["tolerations"] = [{"key": key, "operator": "Exists"} for key in said["tolerates"]]
    if said.get("alone"):
        del pod["metadata"]["ownerReferences"]
    if "policy" in said:
        pod["spec"]["preemptionPolicy"] = said["policy"]
    if not said.get("pending"):
        pod["spec"]["nodeName"] = said.get("node", "n")
        pod["status"] = {"phase": "Running", "startTime": time}
    return pod
