"""Volcano's objects from a description with deep trees of queues, several models, and cores and memory beside GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from tests.unit.review.volcano_objects import API, GPU, SCHEDULER_KEY, time_of

MODEL = "apportion.dev/gpu-model"
CLASSES = {"batch": 0, "normal": 1000, "urgent": 5000}
"""Priorities that pods have; a change of a class changes that of later pods alone."""


def objects_of(cluster: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a described cluster."""
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "volcano-scheduler-configmap", "namespace": "volcano-system"},
        "data": {SCHEDULER_KEY: _configuration(cluster)},
    }
    for said in cluster["nodes"]:
        yield _node(said, is_grouped=cluster["grouped"])
    for name, value in cluster["classes"].items():
        yield {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            **({"preemptionPolicy": "Never"} if name in cluster.get("never", ()) else {}),
        }
    for number, (name, said) in enumerate(cluster["queues"].items()):
        yield _queue(name, said, number)
    for said in cluster["jobs"]:
        yield from _job(said)


def _configuration(cluster: Mapping[str, Any]) -> str:
    """Return the scheduler's configuration: that of `actions` and `tiers`, or as Apportion writes it."""
    if "tiers" in cluster:
        tiers = [{"plugins": plugins} for plugins in cluster["tiers"]]
        return str(yaml.safe_dump({"actions": cluster["actions"], "tiers": tiers}, sort_keys=False))
    capacity: dict[str, Any] = {"name": "capacity", "enableHierarchy": True}
    if cluster["levels"]:
        capacity["arguments"] = {"ancestorReclaimLevel": cluster["levels"]}
    fit: dict[str, Any] = {GPU: {"type": cluster["placement"], "weight": 100}}
    fit |= {resource: {"type": "LeastAllocated", "weight": 1} for resource in ("cpu", "memory")}
    weights = {"leastrequested.weight": cluster["weight"], "balancedresource.weight": cluster["weight"]}
    plugins: list[dict[str, Any]] = [
        {"name": "priority"},
        {"name": "gang", "enablePreemptable": False, "enableReclaimable": False},
        {"name": "conformance"},
        capacity,
        {"name": "predicates"},
        *([{"name": "nodegroup", "arguments": {"strict": False}}] if cluster["grouped"] else []),
        {"name": "resource-strategy-fit", "arguments": {"resources": fit}},
        {"name": "nodeorder", "arguments": weights},
    ]
    document = {"actions": "enqueue, allocate, preempt, reclaim, backfill", "tiers": [{"plugins": plugins}]}
    return str(yaml.safe_dump(document, sort_keys=False))


def _node(said: Mapping[str, Any], *, is_grouped: bool) -> dict[str, Any]:
    held = {GPU: str(said["gpu"]), "cpu": str(said["cpu"]), "memory": f"{said['mem']}Gi"}
    held["pods"] = str(said.get("pods", 60))
    labels = {"kubernetes.io/hostname": said["name"], MODEL: said["model"]}
    if is_grouped:
        labels["volcano.sh/nodegroup-name"] = said["model"]
    if "group" in said:
        labels["volcano.sh/nodegroup-name"] = said["group"]
    spec: dict[str, Any] = {"unschedulable": True} if said.get("cordoned") else {}
    if "taints" in said:
        spec["taints"] = said["taints"]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": said["name"], "labels": labels},
        "spec": spec,
        "status": {"allocatable": held, "capacity": held, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    return {name: f"{amount}Gi" if name == "memory" else str(amount) for name, amount in amounts.items()}


def _queue(name: str, said: Mapping[str, Any], number: int) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "parent": said["parent"],
        "weight": 1,
        "reclaimable": said.get("reclaimable", True),
        "deserved": _quantities(said["deserved"]),
    }
    if said["capability"]:
        spec["capability"] = _quantities(said["capability"])
    if said["guarantee"]:
        spec["guarantee"] = {"resource": _quantities(said["guarantee"])}
    if "priority" in said:
        spec["priority"] = said["priority"]
    if "groups" in said:
        spec["affinity"] = {"nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": said["groups"]}}
    if "affinity" in said:
        spec["affinity"] = said["affinity"]
    return {
        "apiVersion": API,
        "kind": "Queue",
        "metadata": {"name": name, "uid": name, "creationTimestamp": time_of(number % 3)},
        "spec": spec,
        "status": {"state": said.get("state", "Open")},
    }


def _job(said: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a pod group and its pods, which run on the nodes of `spots`, or wait."""
    name, least = said["name"], said["min"]
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": name, "uid": name, "controller": True}
    asked = {resource: amount for resource, amount in zip((GPU, "cpu", "memory"), said["req"], strict=True) if amount}
    total = _quantities({resource: amount * least for resource, amount in asked.items()})
    group: dict[str, Any] = {"queue": said["queue"], "minMember": least, "minResources": total}
    if said["class"]:
        group["priorityClassName"] = said["class"]
    yield {
        "apiVersion": API,
        "kind": "PodGroup",
        "metadata": {
            "name": f"{name}-pg",
            "namespace": "work",
            "uid": f"pg-{name}",
            "creationTimestamp": time_of(said["at"]),
        },
        "spec": group,
        "status": {"phase": "Running" if said["spots"] else said["phase"]},
    }
    for number in range(said["replicas"]):
        is_bound = number < len(said["spots"])
        annotations = {"scheduling.k8s.io/group-name": f"{name}-pg"}
        if said.get("keep"):
            annotations["volcano.sh/preemptable"] = "false"
        requests = _quantities(asked)
        spec: dict[str, Any] = {
            "schedulerName": "volcano",
            "priority": CLASSES.get(said["class"] or "", 0),
            "containers": [{"name": "main", "resources": {"requests": requests, "limits": requests}}],
        }
        if said["class"]:
            spec["priorityClassName"] = said["class"]
        if is_bound:
            spec["nodeName"] = said["spots"][number]
        if said.get("model"):
            spec["nodeSelector"] = {MODEL: said["model"]}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-p-{number}",
                "namespace": "work",
                "uid": f"{name}.{number}",
                "creationTimestamp": time_of(said["at"] + number % 2),
                "annotations": annotations,
                "ownerReferences": [owner],
            },
            "spec": spec,
            "status": {"phase": "Running"} if is_bound else {"phase": "Pending"},
        }
