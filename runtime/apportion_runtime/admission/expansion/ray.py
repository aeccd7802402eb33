"""The pods that KubeRay creates for Ray clusters, jobs and services.

A RayJob's work is submitted once its cluster is ready: by a pod of a Job, by the operator, or by a container next to
the head. Source: KubeRay 1.7, ray-operator/controllers/ray (common/pod.go, common/job.go, rayjob_controller.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from apportion_api.kai.names import QUEUE_LABEL
from apportion_api.kubernetes.operators import RAY_GROUP_LABEL, RAY_HEAD_GROUP, RAY_NODE_TYPE_LABEL
from apportion_runtime.admission.expansion.expansion import Ending, Expansion, PodReplacement, Slot, child, slot
from apportion_runtime.admission.objects import GroupingError, Manifest, labels_of, name_of, nested, text, whole

BY_JOB, BY_OPERATOR, BY_SIDECAR, BY_HAND = "K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode"
_CLUSTER_NAME = "ray.io/cluster"
_SUBMITTER: Mapping[str, Any] = {
    "name": "ray-job-submitter",
    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "200Mi"}},
}
"""The default submitter container: KubeRay's GetDefaultSubmitterContainer."""


def expand_cluster(workload: Manifest) -> Expansion:
    """Return the head and every worker; a worker of several hosts has a pod on each."""
    return _expand(workload, workload)


def expand_service(workload: Manifest) -> Expansion:
    """Return the pods of the service's cluster."""
    made = _with_cluster(workload)
    cluster = name_of(made.children[0])
    return replace(made, status={"activeServiceStatus": {"rayClusterName": cluster}})


def submission_mode(ray_job: Manifest) -> str:
    """Return the submission mode of a RayJob; the default is a Job."""
    return text(ray_job, "spec", "submissionMode") or BY_JOB


def submitter_of(ray_job: Manifest) -> Mapping[str, Any]:
    """Return the template of the pod that submits a RayJob's work."""
    declared: Mapping[str, Any] | None = nested(ray_job, "spec", "submitterPodTemplate")
    return declared or {"spec": {"restartPolicy": "Never", "containers": [_SUBMITTER]}}


def expand_ray_job(workload: Manifest) -> Expansion:
    """Return the pods of the job's cluster, and the submitter pod, which its operator creates last.

    Raises:
        GroupingError: If its submission mode is not supported.
    """
    mode = submission_mode(workload)
    if nested(workload, "spec", "clusterSelector") or not nested(workload, "spec", "rayClusterSpec"):
        raise GroupingError(
            "RayJob: spec.clusterSelector, which selects an existing cluster, is not simulated; define the cluster in spec.rayClusterSpec"
        )
    if mode not in (BY_JOB, BY_OPERATOR, BY_SIDECAR):
        why = "waits for a user to submit the job" if mode == BY_HAND else "is not a KubeRay submission mode"
        raise GroupingError(f"RayJob: spec.submissionMode {mode} {why}; use {BY_JOB}, {BY_OPERATOR} or {BY_SIDECAR}")
    made = _with_cluster(workload, beside_head=(_SUBMITTER,) if mode == BY_SIDECAR else ())
    made = replace(made, status={"rayClusterName": name_of(made.children[0])}, ending=Ending.TOGETHER)
    if mode == BY_JOB:
        name = name_of(workload)
        own = slot("submitter", submitter_of(workload), ("Job", name), is_worker=False)
        job = child(("batch/v1", "Job"), name, workload, {"template": submitter_of(workload)})
        made = replace(made, slots=(*made.slots, replace(own, comes_last=True)), last_child=job)
    return replace(made, submitted=mode != BY_SIDECAR)


def _with_cluster(workload: Manifest, beside_head: tuple[Mapping[str, Any], ...] = ()) -> Expansion:
    config = nested(workload, "spec", "rayClusterConfig" if workload.get("kind") == "RayService" else "rayClusterSpec")
    if beside_head:
        config = _with_containers(config, beside_head)
    labels = {key: value for key, value in labels_of(workload).items() if key == QUEUE_LABEL}
    cluster = child(("ray.io/v1", "RayCluster"), f"{name_of(workload)}-cluster", workload, config or {}, labels=labels)
    return replace(_expand(cluster, workload), children=(cluster,))


def _expand(cluster: Manifest, workload: Manifest) -> Expansion:
    name = name_of(cluster)
    owner = ("RayCluster", name)
    queue = labels_of(workload).get(QUEUE_LABEL)
    own = {_CLUSTER_NAME: name} if not queue else {_CLUSTER_NAME: name, QUEUE_LABEL: queue}
    head = nested(cluster, "spec", "headGroupSpec", "template") or {}
    labels = {**own, RAY_GROUP_LABEL: RAY_HEAD_GROUP, RAY_NODE_TYPE_LABEL: "head"}
    slots: list[Slot] = [slot("head", head, owner, labels, is_worker=False)]
    for number, group in enumerate(nested(cluster, "spec", "workerGroupSpecs") or ()):
        called = text(group, "groupName") or f"worker-group-{number}"
        labels = {**own, RAY_GROUP_LABEL: called, RAY_NODE_TYPE_LABEL: "worker"}
        replicas = 0 if group.get("suspended") else whole(group, "replicas") or 0
        hosts = 1 if (declared := whole(group, "numOfHosts")) is None else declared
        slots += (
            slot(f"{called}-worker-{i}", group.get("template") or {}, owner, labels) for i in range(replicas * hosts)
        )
    return Expansion(tuple(slots), Ending.NEVER, PodReplacement.WHEN_GONE)


def _with_containers(config: Mapping[str, Any], added: tuple[Mapping[str, Any], ...]) -> dict[str, Any]:
    """Return a cluster whose head has more containers."""
    head: Mapping[str, Any] = config.get("headGroupSpec") or {}
    template: Mapping[str, Any] = head.get("template") or {}
    spec: Mapping[str, Any] = template.get("spec") or {}
    containers = [*(spec.get("containers") or ()), *added]
    template = {**template, "spec": {**spec, "containers": containers, "restartPolicy": "Never"}}
    return {**config, "headGroupSpec": {**head, "template": template}}
