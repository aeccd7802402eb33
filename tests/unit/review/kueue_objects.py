"""Kueue objects from a short description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

API = "kueue.x-k8s.io/v1beta2"


def time_of(second: int) -> str:
    """A time, in seconds after the first one."""
    return f"2026-11-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


def objects_of(cluster: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a described cluster: GPUs of one flavor, and workloads of one pod per GPU."""
    yield _made("ResourceFlavor", "h100", {"nodeLabels": {"apportion.dev/gpu-model": "h100"}})
    for value in cluster.get("classes", [0, 100]):
        yield {"apiVersion": API, "kind": "WorkloadPriorityClass", "metadata": {"name": f"p{value}"}, "value": value}
    if "fair" in cluster:
        yield {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            **({"fairSharing": {}} if cluster["fair"] else {}),
            **cluster.get("configuration", {}),
        }
    for name, cohort in cluster.get("cohorts", {}).items():
        yield _made("Cohort", name, {"parentName": cohort.get("parent"), **_groups(cohort)})
    for name, queue in cluster["queues"].items():
        yield _made("ClusterQueue", name, _queue(queue))
        local = {"clusterQueue": name, "stopPolicy": queue.get("local", "None")}
        yield {**_made("LocalQueue", name, local), "metadata": {"name": name, "namespace": name}}
    for number, (name, said) in enumerate(cluster.get("running", {}).items()):
        yield _workload(name, said, said.get("second", number), is_running=True)
    for number, (name, said) in enumerate(cluster.get("pending", {}).items()):
        yield _workload(name, said, 1000 + number, is_running=False)


def _made(kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    written = {key: value for key, value in spec.items() if value is not None}
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": written}


def _groups(said: Mapping[str, Any]) -> dict[str, Any]:
    limits = {
        "nominalQuota": said.get("nominal"),
        "borrowingLimit": said.get("borrow"),
        "lendingLimit": said.get("lend"),
    }
    quota = {"name": "nvidia.com/gpu", **{key: value for key, value in limits.items() if value is not None}}
    if "nominalQuota" not in quota:
        return {}
    flavor = {"name": said.get("flavor", "h100"), "resources": [quota]}
    return {"resourceGroups": [{"coveredResources": ["nvidia.com/gpu"], "flavors": [flavor]}]}


def _queue(said: Mapping[str, Any]) -> dict[str, Any]:
    preemption: dict[str, Any] = {
        "withinClusterQueue": said.get("within", "Never"),
        "reclaimWithinCohort": said.get("reclaim", "Never"),
    }
    if "while_borrowing" in said:
        preemption["borrowWithinCohort"] = {"policy": "LowerPriority", "maxPriorityThreshold": said["while_borrowing"]}
    return {
        "cohortName": said.get("cohort"),
        "namespaceSelector": {},
        "preemption": preemption,
        "stopPolicy": said.get("stop"),
        "fairSharing": None if "weight" not in said else {"weight": said["weight"]},
        **_groups(said),
    }


def _workload(name: str, said: Mapping[str, Any], second: int, *, is_running: bool) -> dict[str, Any]:
    time, gpus, queue = time_of(second), said["gpus"], said["queue"]
    requests = {"resources": {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}}
    status: dict[str, Any] = {}
    if is_running:
        kinds = ("QuotaReserved", "Admitted", *said.get("conditions", ()))
        used = {"name": "main", "count": gpus, "flavors": {"nvidia.com/gpu": "h100"}}
        status = {
            "admission": {
                "clusterQueue": queue,
                "podSetAssignments": [{**used, "resourceUsage": {"nvidia.com/gpu": str(gpus)}}],
            },
            "conditions": [
                {"type": kind, "status": "True", "reason": kind, "lastTransitionTime": time} for kind in kinds
            ],
            "admissionChecks": said.get("checks", []),
        }
    template = {"spec": {"containers": [{"name": "main", **requests}]}}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "controller": True}
    return {
        "apiVersion": API,
        "kind": "Workload",
        "metadata": {
            "name": f"job-{name}",
            "namespace": queue,
            "uid": name,
            "creationTimestamp": time,
            "ownerReferences": [owner],
        },
        "spec": {
            "queueName": queue,
            "priority": said.get("priority", 0),
            "active": said.get("active", True),
            "podSets": [{"name": "main", "count": gpus, "template": template, **said.get("pod_set", {})}],
        },
        "status": status,
    }
