"""Manifests of workloads in the short form of a scenario.

The request of each pod is `cpu`, `memory` and `gpus` (whole devices, or a fraction of one), or `gpu_memory` in MiB.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apportion_api.kai.names import GPU_FRACTION_ANNOTATION, GPU_MEMORY_ANNOTATION
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_runtime.sim.scenario.workload_labels import KAI_WORKLOAD_LABELS, WorkloadLabels

_GPU = GPU_RESOURCE
_FRACTION, _MEMORY = GPU_FRACTION_ANNOTATION, GPU_MEMORY_ANNOTATION


@dataclass(frozen=True, slots=True)
class Size:
    """The request of one pod."""

    cpu: str = "1"
    memory: str = "4Gi"
    gpus: float = 0.0
    gpu_memory: int = 0


@dataclass(frozen=True, slots=True)
class WorkloadFields:
    """A workload in short form: `pods` workers of a size, of which `least` must run; `head` starts before them."""

    kind: str
    name: str
    namespace: str
    queue: str
    priority: str
    size: Size
    pods: int = 1
    least: int | None = None
    head: Size | None = None
    at_once: int | None = None
    schedule: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, str], ...] = ()
    workload_labels: WorkloadLabels = KAI_WORKLOAD_LABELS


def manifest_of(short: WorkloadFields) -> dict[str, Any]:
    """Return the workload. Raises `KeyError` for a kind without a short form."""
    version, build = KINDS[short.kind]
    metadata: dict[str, Any] = {"name": short.name, "namespace": short.namespace, "labels": _labels(short)}
    annotations = _annotations(short)
    if annotations:
        metadata["annotations"] = annotations
    made = {"apiVersion": version, "kind": short.kind, "metadata": metadata}
    return short.workload_labels.finished({**made, **build(short)})


def _labels(short: WorkloadFields) -> dict[str, str]:
    workload_labels = short.workload_labels
    return {
        **workload_labels.queue_labels(short.queue),
        **workload_labels.priority_labels(short.priority),
        **short.labels,
    }


def _annotations(short: WorkloadFields) -> dict[str, str]:
    return {**short.workload_labels.queue_annotations(short.queue), **short.annotations}


def _template(short: WorkloadFields, size: Size) -> dict[str, Any]:
    workload_labels = short.workload_labels
    requests: dict[str, Any] = {"cpu": size.cpu, "memory": size.memory}
    annotations: dict[str, str] = dict(workload_labels.pod_annotations(short.queue))
    if size.gpu_memory:
        annotations[_MEMORY] = str(size.gpu_memory)
    elif 0 < size.gpus < 1:
        annotations[_FRACTION] = f"{size.gpus:g}"
    elif size.gpus:
        requests[_GPU] = str(int(size.gpus))
    spec: dict[str, Any] = {
        **({"schedulerName": workload_labels.scheduler} if workload_labels.scheduler else {}),
        **({"priorityClassName": short.priority} if workload_labels.names_class and short.priority else {}),
        "containers": [{"name": "main", "resources": {"requests": requests, "limits": dict(requests)}}],
    }
    if short.node_selector:
        spec["nodeSelector"] = dict(short.node_selector)
    if short.tolerations:
        spec["tolerations"] = [dict(toleration) for toleration in short.tolerations]
    labels = dict(workload_labels.pod_labels(short.queue))
    declared = {"labels": labels, "annotations": annotations}
    return {"metadata": {key: value for key, value in declared.items() if value}, "spec": spec}


def _pod(short: WorkloadFields) -> dict[str, Any]:
    made = _template(short, short.size)
    annotations = {**_annotations(short), **made["metadata"].get("annotations", {})}
    labels = {**_labels(short), **made["metadata"].get("labels", {})}
    metadata = {"name": short.name, "namespace": short.namespace, "labels": labels, "annotations": annotations}
    return {"metadata": metadata, "spec": made["spec"]}


def _job_spec(short: WorkloadFields) -> dict[str, Any]:
    spec = {"completions": short.pods, "parallelism": short.at_once or short.pods}
    return {**spec, "template": _template(short, short.size)}


def _job(short: WorkloadFields) -> dict[str, Any]:
    made: dict[str, Any] = {"spec": _job_spec(short)}
    if short.least is not None:
        annotations = {**_annotations(short), short.workload_labels.least_annotation: str(short.least)}
        made["metadata"] = {
            "name": short.name,
            "namespace": short.namespace,
            "labels": _labels(short),
            "annotations": annotations,
        }
    return made


def _cron_job(short: WorkloadFields) -> dict[str, Any]:
    template = {"metadata": {"labels": _labels(short)}, "spec": _job_spec(short)}
    return {"spec": {"schedule": short.schedule, "jobTemplate": template}}


def _deployment(short: WorkloadFields) -> dict[str, Any]:
    return {"spec": {"replicas": short.pods, "template": _template(short, short.size)}}


def _ray_spec(short: WorkloadFields) -> dict[str, Any]:
    workers = {
        "groupName": "workers",
        "replicas": short.pods,
        "minReplicas": short.pods if short.least is None else short.least,
        "maxReplicas": short.pods,
        "template": _template(short, short.size),
    }
    head = {"template": _template(short, short.head or Size())}
    scaling = {} if short.least in (None, short.pods) else {"enableInTreeAutoscaling": True}
    return {"headGroupSpec": head, "workerGroupSpecs": [workers] if short.pods else [], **scaling}


def _ray_job(short: WorkloadFields) -> dict[str, Any]:
    return {"spec": {"submissionMode": "HTTPMode", "rayClusterSpec": _ray_spec(short)}}


def _roles(field_name: str, first: str) -> Callable[[WorkloadFields], dict[str, Any]]:
    def build(short: WorkloadFields) -> dict[str, Any]:
        roles: dict[str, Any] = {}
        if short.head is not None or field_name == "mpiReplicaSpecs":
            roles[first] = {"replicas": 1, "template": _template(short, short.head or Size())}
        if short.pods:
            roles["Worker"] = {"replicas": short.pods, "template": _template(short, short.size)}
        spec: dict[str, Any] = {field_name: roles}
        if short.least is not None:
            least = short.least + (1 if first in roles else 0)
            spec["runPolicy"] = {"schedulingPolicy": {"minAvailable": least}}
        return {"spec": spec}

    return build


def _jobset(short: WorkloadFields) -> dict[str, Any]:
    job = {"parallelism": short.pods, "completions": short.pods, "template": _template(short, short.size)}
    template: dict[str, Any] = {"spec": job}
    if short.least is not None:
        template["metadata"] = {"annotations": {short.workload_labels.least_annotation: str(short.least)}}
    return {"spec": {"replicatedJobs": [{"name": "workers", "replicas": 1, "template": template}]}}


def _leader_worker_set(short: WorkloadFields) -> dict[str, Any]:
    template = {"size": short.pods, "workerTemplate": _template(short, short.size)}
    if short.head is not None:
        template["leaderTemplate"] = _template(short, short.head)
    return {"spec": {"replicas": 1, "leaderWorkerTemplate": template}}


def _train_job(short: WorkloadFields) -> dict[str, Any]:
    requests = _template(short, short.size)["spec"]["containers"][0]["resources"]
    return {"spec": {"trainer": {"numNodes": short.pods, "resourcesPerNode": requests}}}


KINDS: Mapping[str, tuple[str, Callable[[WorkloadFields], dict[str, Any]]]] = {
    "Pod": ("v1", _pod),
    "Job": ("batch/v1", _job),
    "CronJob": ("batch/v1", _cron_job),
    "Deployment": ("apps/v1", _deployment),
    "RayCluster": ("ray.io/v1", lambda short: {"spec": _ray_spec(short)}),
    "RayJob": ("ray.io/v1", _ray_job),
    "RayService": ("ray.io/v1", lambda short: {"spec": {"rayClusterConfig": _ray_spec(short)}}),
    "PyTorchJob": ("kubeflow.org/v1", _roles("pytorchReplicaSpecs", "Master")),
    "MPIJob": ("kubeflow.org/v2beta1", _roles("mpiReplicaSpecs", "Launcher")),
    "JobSet": ("jobset.x-k8s.io/v1alpha2", _jobset),
    "TrainJob": ("trainer.kubeflow.org/v1alpha1", _train_job),
    "LeaderWorkerSet": ("leaderworkerset.x-k8s.io/v1", _leader_worker_set),
}
"""The API version and the function for everything but the metadata, by kind."""
