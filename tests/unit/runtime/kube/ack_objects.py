"""A small quota tree and suspended jobs, as they are stored."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
JOBS = "/apis/batch/v1/namespaces/{}/jobs/{}"
RAY_JOBS = "/apis/ray.io/v1/namespaces/{}/rayjobs/{}"
UNITS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{}/queueunits/{}"
ENQUEUED, DEQUEUED = "kube-queue/job-enqueue-timestamp", "kube-queue/job-dequeue-timestamp"


def quota(name: str, least: int, most: int, *children: Object, **fields: Any) -> Object:
    """Return a node of the tree with cores."""
    own = {"name": name, "min": {"cpu": least}, "max": {"cpu": most}, **fields}
    return {**own, "children": list(children)} if children else own


def tree(*leaves: Object, most: int = 40) -> Object:
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1beta1",
        "kind": "ElasticQuotaTree",
        "metadata": {"name": "elasticquotatree", "namespace": "kube-system"},
        "spec": {"root": quota("root", 40, most, quota("algorithm", 24, most, *leaves))},
    }


TREE = tree(
    quota("video", 12, 14, namespaces=["video"]),
    quota("text", 12, 14, namespaces=["text"]),
    quota("intern", 0, 8, namespaces=["intern"]),
)


def job(name: str, cpu: int | str, namespace: str = "video", *, suspend: bool = True, **metadata: Any) -> Object:
    container = {"name": "main", "resources": {"requests": {"cpu": str(cpu)}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "creationTimestamp": "2025-11-21T07:00:00Z",
            **metadata,
        },
        "spec": {"suspend": suspend, "parallelism": 1, "template": {"spec": {"containers": [container]}}},
    }


def ray_job(name: str, cpu: int | str, workers: int, namespace: str = "video", **spec: Any) -> Object:
    template = {"spec": {"containers": [{"name": "ray", "resources": {"requests": {"cpu": str(cpu)}}}]}}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "creationTimestamp": "2025-11-21T07:00:00Z",
        },
        "spec": {
            "suspend": True,
            "shutdownAfterJobFinishes": True,
            "rayClusterSpec": {
                "headGroupSpec": {"template": template},
                "workerGroupSpecs": [{"groupName": "w", "replicas": workers, "template": template}],
            },
            **spec,
        },
    }


def queue(name: str, path: str, policy: str = "Priority", **annotations: str) -> Object:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "Queue",
        "metadata": {
            "name": name,
            "namespace": "kube-queue",
            "annotations": {"kube-queue/quota-fullname": path, **annotations},
        },
        "spec": {"queuePolicy": policy},
    }
