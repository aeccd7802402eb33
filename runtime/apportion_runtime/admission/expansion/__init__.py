"""The expansion of workloads to pods, as their operators create them: one module for similar kinds, and a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from apportion_api.volcano.names import BATCH_GROUP
from apportion_runtime.admission.expansion.builtin_kinds import expand_job, expand_pod, expand_replicas, job_of
from apportion_runtime.admission.expansion.distributed import (
    expand_jobset,
    expand_leader_worker_set,
    expand_train_job,
    expand_training_job,
)
from apportion_runtime.admission.expansion.expansion import Ending, Expansion, PodReplacement, Slot
from apportion_runtime.admission.expansion.observed import OBSERVED, expand_observed, is_observed
from apportion_runtime.admission.expansion.ray import expand_cluster, expand_ray_job, expand_service
from apportion_runtime.admission.expansion.suspension import can_suspend, is_suspended, with_suspended
from apportion_runtime.admission.expansion.volcano import expand_volcano_job
from apportion_runtime.admission.objects import Manifest, kind_of

__all__ = [
    "EXPANDERS",
    "Ending",
    "Expansion",
    "PodReplacement",
    "Slot",
    "can_suspend",
    "expand",
    "is_observed",
    "is_suspended",
    "job_of",
    "with_suspended",
]

EXPANDERS: Mapping[tuple[str, str], Callable[[Manifest], Expansion]] = {
    ("", "Pod"): expand_pod,
    ("batch", "Job"): expand_job,
    ("apps", "Deployment"): expand_replicas,
    ("apps", "ReplicaSet"): expand_replicas,
    ("apps", "StatefulSet"): expand_replicas,
    ("ray.io", "RayCluster"): expand_cluster,
    ("ray.io", "RayJob"): expand_ray_job,
    ("ray.io", "RayService"): expand_service,
    ("kubeflow.org", "PyTorchJob"): expand_training_job,
    ("kubeflow.org", "TFJob"): expand_training_job,
    ("kubeflow.org", "XGBoostJob"): expand_training_job,
    ("kubeflow.org", "JAXJob"): expand_training_job,
    ("kubeflow.org", "MPIJob"): expand_training_job,
    ("jobset.x-k8s.io", "JobSet"): expand_jobset,
    ("trainer.kubeflow.org", "TrainJob"): expand_train_job,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): expand_leader_worker_set,
    (BATCH_GROUP, "Job"): expand_volcano_job,
    OBSERVED: expand_observed,
}
"""By API group and kind. A CronJob has no pods of its own: `job_of` returns the Jobs that it creates."""


def expand(workload: Manifest) -> Expansion:
    """Return the expansion of a workload.

    Raises:
        KeyError: If its kind is not supported.
        GroupingError: If its operator rejects it.
    """
    return EXPANDERS[kind_of(workload)](workload)
