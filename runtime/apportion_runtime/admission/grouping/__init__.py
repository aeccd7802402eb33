"""Which pod group a pod belongs to, by its top owner, as KAI Scheduler's pod grouper decides.

`Karta` objects, which describe further kinds, are not read.

Source: pkg/podgrouper/podgrouper/hub/hub.go, podgrouper.go, pod_controller.go at d5bc503a.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from apportion_api.kai.names import (
    DEFAULT_SCHEDULER,
    NODE_POOL_LABEL,
    POD_GROUP_ANNOTATION,
    SKIP_GROUPING_ANNOTATION,
)
from apportion_runtime.admission.grouping.default import Grouper, Owners, group_by_default
from apportion_runtime.admission.grouping.grouping import Grouping
from apportion_runtime.admission.grouping.grove import group_grove
from apportion_runtime.admission.grouping.jobset import group_jobset
from apportion_runtime.admission.grouping.knative import group_knative
from apportion_runtime.admission.grouping.kubeflow import group_distributed, group_mpi
from apportion_runtime.admission.grouping.leader_worker_set import group_leader_worker_set
from apportion_runtime.admission.grouping.owners import owners_of
from apportion_runtime.admission.grouping.pytorch import group_pytorch
from apportion_runtime.admission.grouping.ray import group_ray
from apportion_runtime.admission.grouping.skipped_owners import below_skipped
from apportion_runtime.admission.grouping.workloads import (
    group_aml_job,
    group_cron_job,
    group_deployment,
    group_job,
    group_notebook,
    group_pod,
    group_runai_job,
    group_spot_request,
)
from apportion_runtime.admission.objects import (
    GroupingError,
    Manifest,
    Objects,
    annotations_of,
    labels_of,
    nested,
)

GROUPERS: Mapping[tuple[str, str], Grouper] = {
    ("apps/v1", "Deployment"): group_deployment,
    ("batch/v1", "Job"): group_job,
    ("batch/v1", "CronJob"): group_cron_job,
    ("v1", "Pod"): group_pod,
    ("ray.io/v1", "RayCluster"): group_ray,
    ("ray.io/v1", "RayJob"): group_ray,
    ("ray.io/v1", "RayService"): group_ray,
    ("ray.io/v1alpha1", "RayCluster"): group_ray,
    ("ray.io/v1alpha1", "RayJob"): group_ray,
    ("ray.io/v1alpha1", "RayService"): group_ray,
    ("kubeflow.org/v1", "PyTorchJob"): group_pytorch,
    ("kubeflow.org/v1", "TFJob"): group_distributed,
    ("kubeflow.org/v1", "XGBoostJob"): group_distributed,
    ("kubeflow.org/v1", "JAXJob"): group_distributed,
    ("kubeflow.org/v1", "MPIJob"): group_mpi,
    ("kubeflow.org/v2beta1", "MPIJob"): group_mpi,
    ("kubeflow.org/v1beta1", "Notebook"): group_notebook,
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): group_jobset,
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"): group_leader_worker_set,
    ("serving.knative.dev/v1", "Service"): group_knative,
    ("grove.io/v1alpha1", "PodGangSet"): group_grove,
    ("grove.io/v1alpha1", "PodCliqueSet"): group_grove,
    ("run.ai/v1", "RunaiJob"): group_runai_job,
    ("amlarc.azureml.com/v1alpha1", "AmlJob"): group_aml_job,
    ("egx.nvidia.io/v1", "SPOTRequest"): group_spot_request,
}
"""Groupers by API version and kind of the top owner; every other kind has the default grouper."""


def group(pod: Manifest, objects: Objects, *, scheduler: str = DEFAULT_SCHEDULER) -> Grouping | None:
    """Return the pod group of a pod; None if the engine leaves grouping to other controllers.

    Raises:
        GroupingError: If none can be created; the pod waits until its owners are corrected.
    """
    if nested(pod, "spec", "schedulerName") != scheduler or _is_skipped(pod):
        return None
    has_owners = bool(nested(pod, "metadata", "ownerReferences"))
    if not has_owners and POD_GROUP_ANNOTATION in annotations_of(pod):
        return None
    try:
        owners: Owners = owners_of(pod, objects)
    except GroupingError:
        if nested(pod, "metadata", "deletionTimestamp"):
            return None
        raise
    if any(_is_skipped(owner) for owner in owners):
        return None
    top, owners = below_skipped(owners[-1] if owners else pod, pod, owners)
    grouper = GROUPERS.get((str(top.get("apiVersion") or ""), str(top.get("kind") or "")), group_by_default)
    made = grouper(top, pod, owners, objects)
    pool = labels_of(pod).get(NODE_POOL_LABEL)
    if pool is None or NODE_POOL_LABEL in made.labels:
        return made
    return replace(made, labels={**made.labels, NODE_POOL_LABEL: pool})


def _is_skipped(made: Manifest) -> bool:
    return annotations_of(made).get(SKIP_GROUPING_ANNOTATION) == "true"
