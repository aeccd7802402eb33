"""Kueue objects from a description: trees of cohorts, several flavors and resources, and workloads of several pod sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

API = "kueue.x-k8s.io/v1beta2"
START = 1_793_491_200
"""Seconds since the epoch at which the first object is made."""
NOW = START + 10_000

_Object = dict[str, Any]


def objects_of(cluster: Mapping[str, Any]) -> Iterator[_Object]:
    """Yield the objects of a described cluster."""
    fair = (
        {"fairSharing": {"preemptionStrategies": cluster["fair"]} if cluster["fair"] else {}}
        if "fair" in cluster
        else {}
    )
    yield {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **fair}
    for name in cluster["flavors"]:
        yield _made("ResourceFlavor", name, {"nodeLabels": {"apportion.dev/gpu-model": name}})
    for name, value in cluster["classes"].items():
        yield {"apiVersion": API, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": value}
    for name, said in cluster["cohorts"].items():
        spec = {"parentName": said.get("parent"), "resourceGroups": _groups(said), "fairSharing": _weight(said)}
        yield _made("Cohort", name, spec)
    for name, said in cluster["queues"].items():
        yield _made("ClusterQueue", name, _queue(said))
    for name in (*cluster["queues"], *cluster.get("spaces", [])):
        said = cluster["queues"].get(name, {})
        local = _made("LocalQueue", name, {"clusterQueue": name, "stopPolicy": said.get("local", "None")})
        local["metadata"]["namespace"] = name
        yield local
    for name, said in cluster["workloads"].items():
        yield _workload(name, said)


def _text(second: int) -> str:
    return datetime.fromtimestamp(START + second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _made(kind: str, name: str, spec: Mapping[str, Any]) -> _Object:
    written = {key: value for key, value in spec.items() if value not in (None, [])}
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": written}


def _weight(said: Mapping[str, Any]) -> _Object | None:
    return {"weight": said["weight"]} if "weight" in said else None


def _groups(said: Mapping[str, Any]) -> list[_Object]:
    return [
        {
            "coveredResources": group["resources"],
            "flavors": [
                {"name": flavor, "resources": [_quota(resource, quotas[resource]) for resource in group["resources"]]}
                for flavor, quotas in group["flavors"].items()
            ],
        }
        for group in said.get("groups", [])
    ]


def _quota(resource: str, amounts: Sequence[int | None]) -> _Object:
    named = zip(("nominalQuota", "borrowingLimit", "lendingLimit"), amounts, strict=True)
    return {"name": resource, **{name: str(amount) for name, amount in named if amount is not None}}


def _queue(said: Mapping[str, Any]) -> _Object:
    preemption: _Object = {
        "withinClusterQueue": said.get("within", "Never"),
        "reclaimWithinCohort": said.get("reclaim", "Never"),
    }
    if "borrowing" in said:
        threshold = {} if said["borrowing"] == "any" else {"maxPriorityThreshold": said["borrowing"]}
        preemption["borrowWithinCohort"] = {"policy": "LowerPriority", **threshold}
    return {
        "cohortName": said.get("cohort"),
        "namespaceSelector": {},
        "queueingStrategy": said.get("strategy", "BestEffortFIFO"),
        "preemption": preemption,
        "stopPolicy": said.get("stop", "None"),
        "fairSharing": _weight(said),
        "flavorFungibility": said.get("fungibility"),
        "resourceGroups": _groups(said),
    }


def _workload(name: str, said: Mapping[str, Any]) -> _Object:
    status: _Object = {}
    if "flavors" in said:
        used = [
            {
                "name": f"s{n}",
                **admitted,
                "resourceUsage": {key: str(amount * admitted["count"]) for key, amount in pods["requests"].items()},
            }
            for n, (pods, admitted) in enumerate(zip(said["pods"], said["flavors"], strict=True))
        ]
        status = {
            "admission": {"clusterQueue": said["queue"], "podSetAssignments": used},
            "conditions": [
                {
                    "type": kind,
                    "status": "True",
                    "reason": kind,
                    "message": "",
                    "lastTransitionTime": _text(said["begun"]),
                }
                for kind in ("QuotaReserved", "Admitted")
            ],
        }
    spec: _Object = {
        "queueName": said["queue"],
        "active": True,
        "priority": said["priority"],
        "podSets": [_pod_set(f"s{n}", pods) for n, pods in enumerate(said["pods"])],
    }
    if "class" in said:
        reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": said["class"]}
        spec["priorityClassRef"] = reference
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": name, "controller": True}
    return {
        "apiVersion": API,
        "kind": "Workload",
        "metadata": {
            "name": f"job-{name}",
            "namespace": said["queue"],
            "uid": name,
            "creationTimestamp": _text(said["second"]),
            "ownerReferences": [owner],
        },
        "spec": spec,
        "status": status,
    }


def _pod_set(name: str, pods: Mapping[str, Any]) -> _Object:
    requests = {key: str(amount) for key, amount in pods["requests"].items()}
    least = {"minCount": pods["least"]} if "least" in pods else {}
    template = {"spec": {"containers": [{"name": "main", "resources": {"requests": requests}}]}}
    return {"name": name, "count": pods["count"], **least, "template": template}
