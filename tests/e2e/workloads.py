"""Workloads as teams write them: the smallest object of each kind that the API server accepts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .kubectl import Object

QUEUE_LABEL = "kai.scheduler/queue"
KAI = "kai-scheduler"

Labels = Mapping[str, str]


def template(
    labels: Labels | None = None,
    *,
    scheduler: str | None = KAI,
    priority_class: str | None = None,
    requests: Labels | None = None,
    annotations: Labels | None = None,
    node: str | None = None,
    restart: str | None = None,
) -> dict[str, Any]:
    """Return a pod template; what is left out is not written."""
    resources = {} if requests is None else {"resources": {"requests": dict(requests), "limits": dict(requests)}}
    spec = {
        "containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10", **resources}],
        "schedulerName": scheduler,
        "priorityClassName": priority_class,
        "nodeName": node,
        "restartPolicy": restart,
    }
    metadata = {"labels": dict(labels or {}), "annotations": dict(annotations or {})}
    return {"metadata": metadata, "spec": {key: value for key, value in spec.items() if value is not None}}


def pod(namespace: str, labels: Labels | None = None, *, name: str = "work", **said: Any) -> dict[str, Any]:
    made = template(labels, **said)
    made["metadata"] |= {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", **made}


def owned(made: dict[str, Any]) -> Object:
    """Return a pod with a controlling owner, as a controller makes it, or somebody who wants to look like one."""
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "somebody",
        "uid": "11111111-2222-3333-4444-555555555555",
        "controller": True,
    }
    return {**made, "metadata": {**made["metadata"], "ownerReferences": [owner]}}


def job(namespace: str, labels: Labels | None = None, *, name: str = "work", of: Any = None) -> Object:
    spec = {"template": of or template(restart="Never")}
    return _object("batch/v1", "Job", namespace, name, labels, spec)


def cron_job(namespace: str, labels: Labels | None = None, *, of: Any = None) -> Object:
    spec = {"schedule": "@daily", "jobTemplate": {"spec": {"template": of or template(restart="Never")}}}
    return _object("batch/v1", "CronJob", namespace, "work", labels, spec)


def deployment(namespace: str, labels: Labels | None = None, *, name: str = "work", of: Any = None) -> Object:
    return _replicated("Deployment", namespace, labels, name, of)


def stateful_set(namespace: str, labels: Labels | None = None, *, of: Any = None) -> Object:
    return _replicated("StatefulSet", namespace, labels, "work", of)


def ray_cluster(namespace: str, labels: Labels | None = None, *, head: Any = None, worker: Any = None) -> Object:
    return _object("ray.io/v1", "RayCluster", namespace, "work", labels, _ray(head, worker))


def ray_job(namespace: str, labels: Labels | None = None, *, head: Any = None, worker: Any = None) -> Object:
    spec = {"entrypoint": "python train.py", "submissionMode": "HTTPMode", "rayClusterSpec": _ray(head, worker)}
    return _object("ray.io/v1", "RayJob", namespace, "work", labels, spec)


def ray_service(namespace: str, labels: Labels | None = None, *, head: Any = None, worker: Any = None) -> Object:
    spec = {"serveConfigV2": "{}", "rayClusterConfig": _ray(head, worker)}
    return _object("ray.io/v1", "RayService", namespace, "work", labels, spec)


def pod_group(namespace: str, queue: str | None, **said: str) -> Object:
    """Return what KAI's pod grouper makes of pods."""
    spec = {"minMember": 1, **({} if queue is None else {"queue": queue}), **said}
    return _object("scheduling.run.ai/v2alpha2", "PodGroup", namespace, "work", None, spec)


def config_map(namespace: str, labels: Labels | None = None) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata(namespace, "work", labels)}


def _replicated(kind: str, namespace: str, labels: Labels | None, name: str, of: Any) -> Object:
    app = {"app": name}
    made = of or template()
    made = {**made, "metadata": {**made["metadata"], "labels": {**made["metadata"]["labels"], **app}}}
    service = {"serviceName": name} if kind == "StatefulSet" else {}
    spec = {"replicas": 2, "selector": {"matchLabels": app}, "template": made, **service}
    return _object("apps/v1", kind, namespace, name, labels, spec)


def _ray(head: Any, worker: Any) -> dict[str, Any]:
    # KubeRay writes the scheduler's name itself.
    group = {
        "groupName": "workers",
        "replicas": 1,
        "minReplicas": 1,
        "maxReplicas": 1,
        "rayStartParams": {},
        "template": worker or template(scheduler=None),
    }
    made = {"rayStartParams": {}, "template": head or template(scheduler=None)}
    return {"headGroupSpec": made, "workerGroupSpecs": [group]}


def _object(api: str, kind: str, namespace: str, name: str, labels: Labels | None, spec: object) -> Object:
    return {"apiVersion": api, "kind": kind, "metadata": _metadata(namespace, name, labels), "spec": spec}


def _metadata(namespace: str, name: str, labels: Labels | None) -> dict[str, Any]:
    return {"name": name, "namespace": namespace, "labels": dict(labels or {})}
