"""Which pod group a pod belongs to, by its top owner, as KAI Scheduler's pod grouper decides.

Source: pkg/podgrouper/podgrouper/hub/hub.go, podgrouper.go, pod_controller.go at d5bc503a.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_api.kai.names import DEFAULT_SCHEDULER, POD_GROUP_ANNOTATION, SKIP_GROUPING_ANNOTATION
from apportion_runtime.admission.grouping.default import Grouper, Owners, group_by_default
from apportion_runtime.admission.grouping.grouping import Grouping
from apportion_runtime.admission.grouping.jobset import group_jobset
from apportion_runtime.admission.grouping.kubeflow import group_distributed, group_mpi
from apportion_runtime.admission.grouping.leader_worker_set import group_leader_worker_set
from apportion_runtime.admission.grouping.pytorch import group_pytorch
from apportion_runtime.admission.grouping.ray import group_ray
from apportion_runtime.admission.grouping.workloads import group_cron_job, group_deployment, group_job, group_pod
from apportion_runtime.admission.objects import (
    GroupingError,
    Manifest,
    Objects,
    annotations_of,
    kind_of,
    labels_of,
    name_of,
    namespace_of,
    nested,
    uid_of,
)

GROUPERS: Mapping[tuple[str, str], Grouper] = {
    ("apps", "Deployment"): group_deployment,
    ("batch", "Job"): group_job,
    ("batch", "CronJob"): group_cron_job,
    ("", "Pod"): group_pod,
    ("ray.io", "RayCluster"): group_ray,
    ("ray.io", "RayJob"): group_ray,
    ("ray.io", "RayService"): group_ray,
    ("kubeflow.org", "PyTorchJob"): group_pytorch,
    ("kubeflow.org", "TFJob"): group_distributed,
    ("kubeflow.org", "XGBoostJob"): group_distributed,
    ("kubeflow.org", "JAXJob"): group_distributed,
    ("kubeflow.org", "MPIJob"): group_mpi,
    ("jobset.x-k8s.io", "JobSet"): group_jobset,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): group_leader_worker_set,
}
"""Groupers by API group and kind of the top owner; every other kind has the default grouper."""

SKIPPED = frozenset((("trainer.kubeflow.org", "TrainJob"), ("argoproj.io", "Workflow")))
"""Top owners that only wrap another owner: the wrapped one is grouped, with the labels and annotations of both."""


def group(pod: Manifest, objects: Objects, *, scheduler: str = DEFAULT_SCHEDULER) -> Grouping | None:
    """Return the pod group of a pod; None where the engine leaves grouping to others.

    Raises:
        GroupingError: If none can be created; the pod waits until its owners are corrected.
    """
    if nested(pod, "spec", "schedulerName") != scheduler:
        return None
    owners = owners_of(pod, objects)
    if any(annotations_of(made).get(SKIP_GROUPING_ANNOTATION) == "true" for made in (pod, *owners)):
        return None
    if not owners and POD_GROUP_ANNOTATION in annotations_of(pod):
        return None
    top = owners[-1] if owners else pod
    if kind_of(top) in SKIPPED:
        below = owners[-2] if len(owners) > 1 else pod
        top, owners = _with_words_of(below, top), owners[:-1]
    return GROUPERS.get(kind_of(top), group_by_default)(top, pod, owners, objects)


def owners_of(pod: Manifest, objects: Objects) -> Owners:
    """Return the owners of a pod, its own first.

    Raises:
        GroupingError: If an owner does not exist, or has several owners itself.
    """
    found: list[Manifest] = []
    references = nested(pod, "metadata", "ownerReferences") or ()
    while references:
        if found and len(references) > 1:
            kind, name = str(found[-1].get("kind")), name_of(found[-1])
            raise GroupingError(f"found {kind} <{name} in namespace {namespace_of(pod)}> with multiple owners")
        owner = objects.get(references[0].get("kind") or "", namespace_of(pod), references[0].get("name") or "")
        if owner is None or uid_of(owner) != references[0].get("uid"):
            raise GroupingError(
                f"failed to find {references[0].get('kind')}: <{namespace_of(pod)}/{references[0].get('name')}>, "
                f"uid: <{references[0].get('uid')}>"
            )
        found.append(owner)
        references = nested(owner, "metadata", "ownerReferences") or ()
    return found


def _with_words_of(below: Manifest, skipped: Manifest) -> Manifest:
    metadata = dict(below.get("metadata") or {})
    metadata["labels"] = {**labels_of(skipped), **labels_of(below)}
    metadata["annotations"] = {**annotations_of(skipped), **annotations_of(below)}
    return {**below, "metadata": metadata}
