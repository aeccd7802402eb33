"""What kube-queue reads from a job: whether its kind is supported, its total request, and its priority.

Source: koordinator-sh/koord-queue at 298e9a8c, pkg/jobext/handles (rayjob.go, job.go, pytorchjob.go, tfjob.go,
mpijob_v1alpha1.go) and pkg/framework/plugins/elasticquota/util.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from apportion_api.ack import names
from apportion_api.kubernetes.objects import PriorityClass
from apportion_api.objects import read
from apportion_runtime.admission.expansion import is_suspended, with_suspended
from apportion_runtime.admission.expansion.expansion import defaulted
from apportion_runtime.admission.grouping.kubeflow import ROLES
from apportion_runtime.admission.objects import Manifest, annotations_of, kind_of, labels_of, name_of, nested
from apportion_runtime.kube_queue.amounts import times
from apportion_runtime.snapshots.pod_requests import pod_requests, total

_RAY_JOB, _JOB = ("ray.io", "RayJob"), ("batch", "Job")
_SUFFIXES: Mapping[tuple[str, str], str] = {
    _RAY_JOB: "ray-qu",
    _JOB: "",
    ("kubeflow.org", "PyTorchJob"): "py-qu",
    ("kubeflow.org", "TFJob"): "tf-qu",
    ("kubeflow.org", "MPIJob"): "mpi-qu",
}
"""The supported kinds, and the suffix of each one's QueueUnit."""
_BY_ANNOTATION = "kubeflow.org"
"""Arena's operators for kinds of this group read an annotation."""
_FIRST_ROLES = ("Master", "Launcher", "Chief")


class ObjectLookup(Protocol):
    """The objects of a cluster that a job refers to."""

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return an object; None if it does not exist. The namespace of cluster-scoped kinds is empty."""
        ...


def is_known(job: Manifest) -> bool:
    """Return whether kube-queue supports a kind of job."""
    return kind_of(job) in _SUFFIXES


def is_known_kind(kind: str) -> bool:
    """Return whether kube-queue supports jobs of a kind, in any API group."""
    return any(kind == known for _, known in _SUFFIXES)


def held_back(job: Manifest) -> Manifest:
    """Return a job with its suspend field set if its annotation requests it."""
    by_annotation = kind_of(job)[0] == _BY_ANNOTATION and annotations_of(job).get(names.SUSPEND_ANNOTATION) == "true"
    return with_suspended(job, suspended=True) if by_annotation and is_known(job) and not is_suspended(job) else job


def resumed(job: Manifest, at: str) -> dict[str, Any]:
    """Return a job that was dequeued at a given time."""
    declared = {
        names.DEQUEUED_AT_ANNOTATION: at,
        **({names.SUSPEND_ANNOTATION: "false"} if names.SUSPEND_ANNOTATION in annotations_of(job) else {}),
    }
    return noted(with_suspended(job, suspended=False), declared)


def suspended(job: Manifest) -> dict[str, Any]:
    """Return a job that was requeued."""
    declared = {names.SUSPEND_ANNOTATION: "true"} if names.SUSPEND_ANNOTATION in annotations_of(job) else {}
    made = noted(with_suspended(job, suspended=True), declared)
    del made["metadata"]["annotations"][names.DEQUEUED_AT_ANNOTATION]
    return made


def noted(job: Manifest, annotations: Mapping[str, str]) -> dict[str, Any]:
    """Return a job with more annotations."""
    metadata = job["metadata"]
    return {**job, "metadata": {**metadata, "annotations": {**annotations_of(job), **annotations}}}


def unit_name(job: Manifest) -> str:
    """Return the name of a job's QueueUnit."""
    suffix = _SUFFIXES[kind_of(job)]
    return f"{name_of(job)}-{suffix}" if suffix else name_of(job)


def demand(job: Manifest) -> dict[str, int]:
    """Return the total request of a job's pods. Raises `ValueError` for an invalid amount.

    The submitter pod of a RayJob does not count, as in kube-queue.
    """
    return total(
        times(pod_requests(defaulted(template.get("spec") or {})), count) for template, count in _templates(job)
    )


def _templates(job: Manifest) -> Iterator[tuple[Mapping[str, Any], int]]:
    if kind_of(job) == _RAY_JOB:
        yield nested(job, "spec", "rayClusterSpec", "headGroupSpec", "template") or {}, 1
        for group in nested(job, "spec", "rayClusterSpec", "workerGroupSpecs") or ():
            yield group.get("template") or {}, group.get("replicas") or 0
    elif kind_of(job) == _JOB:
        parallelism = nested(job, "spec", "parallelism")
        yield nested(job, "spec", "template") or {}, 1 if parallelism is None else parallelism
    else:
        roles: Mapping[str, Any] = nested(job, "spec", ROLES[str(job["kind"])]) or {}
        for role in roles.values():
            replicas = role.get("replicas")
            yield role.get("template") or {}, 1 if replicas is None else replicas


def priority(job: Manifest, objects: ObjectLookup) -> int:
    """Return a job's priority in its queue: that of its pods' class; 0 if they have none or it does not exist."""
    spec = _queue_settings(job).get("spec") or {}
    found = objects.get("PriorityClass", "", spec.get("priorityClassName") or "")
    declared = spec.get("priority") if found is None else read(PriorityClass, found).value
    return int(declared or 0)


def _queue_settings(job: Manifest) -> Mapping[str, Any]:
    """Return the template that determines the job's priority: the head's, or that of a role other than the first."""
    if kind_of(job) in (_RAY_JOB, _JOB):
        return next(_templates(job))[0]
    roles: Mapping[str, Any] = nested(job, "spec", ROLES[str(job["kind"])]) or {}
    role = next((role for role in roles if role not in _FIRST_ROLES), None)
    return {} if role is None else roles[role].get("template") or {}


def is_preemptible(job: Manifest) -> bool:
    """Return whether a job may borrow quota; by default it may (`--defaultPreemptible` is true by default)."""
    declared = [labels_of(job).get(key, "") for key in names.PREEMPTIBLE_LABELS]
    return "true" in declared or not any(declared)
