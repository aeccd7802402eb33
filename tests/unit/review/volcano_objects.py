"""Volcano's objects from a short description: nodes, a tree of queues, and gangs of pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import yaml

API = "scheduling.volcano.sh/v1beta1"
CLASSES = {"low": 10, "middle": 50, "high": 100}
START = 1_793_491_200
GPU = "nvidia.com/gpu"
SCHEDULER_KEY = "volcano-scheduler.conf"


def configuration(cluster: Mapping[str, Any]) -> str:
    """Return the scheduler's configuration as Apportion writes it."""
    said = cluster.get("configuration", {})
    capacity: dict[str, Any] = {"name": "capacity", "enableHierarchy": True}
    if said.get("levels"):
        capacity["arguments"] = {"ancestorReclaimLevel": said["levels"]}
    spread = said.get("placement") == "spread"
    fit = {
        GPU: {"type": "LeastAllocated" if spread else "MostAllocated", "weight": 100},
        "cpu": {"type": "LeastAllocated", "weight": 1},
        "memory": {"type": "LeastAllocated", "weight": 1},
    }
    plugins: list[dict[str, Any]] = [
        {"name": "priority"},
        {"name": "gang", "enablePreemptable": False, "enableReclaimable": False},
        {"name": "conformance"},
        capacity,
        {"name": "predicates"},
        *([{"name": "nodegroup", "arguments": {"strict": False}}] if said.get("groups") else []),
        {"name": "resource-strategy-fit", "arguments": {"resources": fit}},
        {"name": "nodeorder", "arguments": {"leastrequested.weight": 1, "balancedresource.weight": 1}},
    ]
    if said.get("gang"):
        plugins[1] = {"name": "gang"}
    actions = said.get("actions", "enqueue, allocate, preempt, reclaim, backfill")
    return str(yaml.safe_dump({"actions": actions, "tiers": [{"plugins": plugins}]}, sort_keys=False))


def objects_of(cluster: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a described cluster."""
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "volcano-scheduler-configmap", "namespace": "volcano-system"},
        "data": {SCHEDULER_KEY: configuration(cluster)},
    }
    for name, said in cluster["nodes"].items():
        yield _node(name, said)
    for name, value in cluster.get("classes", CLASSES).items():
        yield {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
    for number, (name, said) in enumerate(cluster["queues"].items()):
        yield _queue(name, said, number)
    for number, (name, said) in enumerate(cluster.get("running", {}).items()):
        yield from _gang(cluster, name, said, number)
    for number, (name, said) in enumerate(cluster.get("pending", {}).items()):
        yield from _gang(cluster, name, said, 1_000 + number)


def time_of(second: int) -> str:
    """Return a time, in seconds after the first one."""
    return datetime.fromtimestamp(START + second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _node(name: str, said: Mapping[str, Any]) -> dict[str, Any]:
    held = {"cpu": "96", "memory": "900Gi", "pods": "110", GPU: str(said.get("gpus", 8))}
    labels = {"kubernetes.io/hostname": name, "apportion.dev/gpu-model": said.get("model", "h100")}
    if "group" in said:
        labels["volcano.sh/nodegroup-name"] = said["group"]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"unschedulable": True} if said.get("cordoned") else {},
        "status": {"allocatable": held, "capacity": held, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _queue(name: str, said: Mapping[str, Any], number: int) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "parent": said.get("parent", "root"),
        "weight": said.get("weight", 1),
        "reclaimable": said.get("reclaimable", True),
        "priority": said.get("priority"),
        "deserved": _gpus(said.get("deserved")),
        "guarantee": None if "guarantee" not in said else {"resource": _gpus(said["guarantee"])},
        "capability": _gpus(said.get("capability")),
    }
    if "groups" in said:
        spec["affinity"] = {"nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": said["groups"]}}
    return {
        "apiVersion": API,
        "kind": "Queue",
        "metadata": {"name": name, "uid": name, "creationTimestamp": time_of(number // 2)},
        "spec": {key: value for key, value in spec.items() if value is not None},
        "status": {"state": said.get("state", "Open")},
    }


def _gpus(count: int | None) -> dict[str, str] | None:
    return None if count is None else {GPU: str(count)}


def _gang(cluster: Mapping[str, Any], name: str, said: Mapping[str, Any], second: int) -> Iterator[dict[str, Any]]:
    """Yield a pod group and its pods, which run on the named nodes, or wait."""
    nodes = said.get("nodes", ())
    n_pods, gpus, queue = said.get("pods", 1), said["gpus"], said["queue"]
    least = said.get("minimum", n_pods)
    class_name = said.get("class", "low")
    made = time_of(said.get("second", second))
    spec: dict[str, Any] = {"queue": queue, "minMember": least}
    if "class" in said:
        spec["priorityClassName"] = class_name
    if said.get("least_resources", True):
        spec["minResources"] = {GPU: str(least * gpus)}
    phase = "Running" if nodes else said.get("phase", "Pending")
    yield {
        "apiVersion": API,
        "kind": "PodGroup",
        "metadata": {
            "name": f"pg-{name}",
            "namespace": queue,
            "uid": f"pg-{name}",
            "creationTimestamp": made,
            "ownerReferences": [
                {
                    "apiVersion": "batch.volcano.sh/v1alpha1",
                    "kind": "Job",
                    "name": name,
                    "uid": name,
                    "controller": True,
                }
            ],
        },
        "spec": spec,
        "status": {"phase": phase},
    }
    for number in range(n_pods):
        is_bound = number < len(nodes)
        annotations = {"scheduling.k8s.io/group-name": f"pg-{name}"}
        if "preemptable" in said:
            annotations["volcano.sh/preemptable"] = said["preemptable"]
        requests = {GPU: str(gpus)}
        pod_spec: dict[str, Any] = {
            "schedulerName": "volcano",
            "priorityClassName": class_name,
            "priority": CLASSES[class_name],
            "containers": [{"name": "main", "image": "train", "resources": {"requests": requests, "limits": requests}}],
        }
        if is_bound:
            pod_spec["nodeName"] = nodes[number]
        if "model" in said:
            pod_spec["nodeSelector"] = {"apportion.dev/gpu-model": said["model"]}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-worker-{number}",
                "namespace": queue,
                "uid": f"{name}-{number}",
                "creationTimestamp": made,
                "annotations": annotations,
                "ownerReferences": [
                    {
                        "apiVersion": "batch.volcano.sh/v1alpha1",
                        "kind": "Job",
                        "name": name,
                        "uid": name,
                        "controller": True,
                    }
                ],
            },
            "spec": pod_spec,
            "status": {"phase": "Running", "startTime": made} if is_bound else {"phase": "Pending"},
        }
