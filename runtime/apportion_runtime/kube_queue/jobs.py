"""The data of a job that kube-queue reads: whether its kind is supported, its total request, and its priority.

Source: koordinator-sh/koord-queue at 298e9a8c, pkg/jobext/handles (rayjob.go, job.go, pytorchjob.go, tfjob.go,
mpijob_v1alpha1.go) and pkg/framework/plugins/elasticquota/util.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class JobChange:
    """The fields that kube-queue writes to a job.

    Attributes:
        annotations: Annotations; None removes one.
        suspended: Whether the job is suspended afterwards; None leaves it as it is.
    """

    annotations: Mapping[str, str | None]
    suspended: bool | None = None

    def applied(self, job: Manifest) -> dict[str, Any]:
        """Return the changed job."""
        made = job if self.suspended is None else with_suspended(job, suspended=self.suspended)
        merged = {**annotations_of(job), **self.annotations}
        annotations = {key: value for key, value in merged.items() if value is not None}
        return {**made, "metadata": {**job["metadata"], "annotations": annotations}}

    def patch(self, job: Manifest) -> dict[str, Any]:
        """Return the change as a merge patch of this version of the job."""
        kind = {"apiVersion": job["apiVersion"], "kind": job["kind"]}
        made = {} if self.suspended is None else with_suspended(kind, suspended=self.suspended)
        metadata = {key: job["metadata"][key] for key in ("uid", "resourceVersion") if key in job["metadata"]}
        return {**made, "metadata": {**metadata, "annotations": dict(self.annotations)}}


def enqueueing(at: str) -> JobChange:
    """Return the change to a job that is enqueued at a given time."""
    return JobChange({names.ENQUEUED_AT_ANNOTATION: at})


def resumption(job: Manifest, at: str) -> JobChange:
    """Return the change to a job that is dequeued at a given time."""
    # A job may be dequeued before it is annotated as enqueued.
    enqueued = {names.ENQUEUED_AT_ANNOTATION: at, **annotations_of(job)}[names.ENQUEUED_AT_ANNOTATION]
    annotations = {names.ENQUEUED_AT_ANNOTATION: enqueued, names.DEQUEUED_AT_ANNOTATION: at}
    return JobChange({**annotations, **_suspend_annotation(job, "false")}, suspended=False)


def suspension(job: Manifest) -> JobChange:
    """Return the change to a job that is requeued."""
    return JobChange({names.DEQUEUED_AT_ANNOTATION: None, **_suspend_annotation(job, "true")}, suspended=True)


def _suspend_annotation(job: Manifest, value: str) -> dict[str, str]:
    return {names.SUSPEND_ANNOTATION: value} if names.SUSPEND_ANNOTATION in annotations_of(job) else {}


def unit_name(job: Manifest) -> str:
    """Return the name of a job's QueueUnit."""
    suffix = _SUFFIXES[kind_of(job)]
    return f"{name_of(job)}-{suffix}" if suffix else name_of(job)


def demand(job: Manifest) -> dict[str, int]:
    """Return the total request of a job's pods.

    The submitter pod of a RayJob does not count, as in kube-queue.

    Raises:
        ValueError: If an amount or a number of pods is invalid; the message begins with the path of the field.
    """
    return total(times(_requests(template), template.count()) for template in _templates(job))


@dataclass(frozen=True, slots=True)
class _Template:
    """A pod template, and how many pods it has: a count that is not written has a default."""

    path: str
    written: Mapping[str, Any]
    count_path: str
    written_count: object
    default_count: int

    def count(self) -> int:
        """Return the number of pods. Raises `ValueError`."""
        written = self.written_count
        if written is None:
            return self.default_count
        if isinstance(written, bool) or not isinstance(written, int) or written < 0:
            raise ValueError(f"{self.count_path}: `{written}` is not a valid number of pods")
        return written


def _requests(template: _Template) -> dict[str, int]:
    try:
        requests = pod_requests(defaulted(template.written.get("spec") or {}))
    except ValueError as wrong:
        raise ValueError(f"{template.path}: {wrong}") from None
    negative = next((name for name, amount in requests.items() if amount < 0), None)
    if negative is not None:
        raise ValueError(f"{template.path}: the {negative} request is negative")
    return requests


def _templates(job: Manifest) -> Iterator[_Template]:
    if kind_of(job) == _RAY_JOB:
        cluster = "spec.rayClusterSpec"
        head = nested(job, "spec", "rayClusterSpec", "headGroupSpec", "template") or {}
        yield _Template(f"{cluster}.headGroupSpec.template", head, "", None, 1)
        for number, group in enumerate(nested(job, "spec", "rayClusterSpec", "workerGroupSpecs") or ()):
            path = f"{cluster}.workerGroupSpecs[{number}]"
            yield _Template(
                f"{path}.template", group.get("template") or {}, f"{path}.replicas", group.get("replicas"), 0
            )
    elif kind_of(job) == _JOB:
        template = nested(job, "spec", "template") or {}
        yield _Template("spec.template", template, "spec.parallelism", nested(job, "spec", "parallelism"), 1)
    else:
        field = ROLES[str(job["kind"])]
        roles: Mapping[str, Any] = nested(job, "spec", field) or {}
        for name, role in roles.items():
            path = f"spec.{field}.{name}"
            yield _Template(f"{path}.template", role.get("template") or {}, f"{path}.replicas", role.get("replicas"), 1)


def priority(job: Manifest, objects: ObjectLookup) -> int:
    """Return a job's priority in its queue: that of its pods' class; 0 if they have none or it does not exist."""
    spec = _queue_settings(job).get("spec") or {}
    found = objects.get("PriorityClass", "", spec.get("priorityClassName") or "")
    declared = spec.get("priority") if found is None else read(PriorityClass, found).value
    return int(declared or 0)


def _queue_settings(job: Manifest) -> Mapping[str, Any]:
    """Return the template that determines the job's priority: the head's, or that of a role other than the first."""
    if kind_of(job) in (_RAY_JOB, _JOB):
        return next(_templates(job)).written
    roles: Mapping[str, Any] = nested(job, "spec", ROLES[str(job["kind"])]) or {}
    role = next((role for role in roles if role not in _FIRST_ROLES), None)
    return {} if role is None else roles[role].get("template") or {}


def is_preemptible(job: Manifest) -> bool:
    """Return whether a job may borrow quota; by default it may (`--defaultPreemptible` is true by default)."""
    declared = [labels_of(job).get(key, "") for key in names.PREEMPTIBLE_LABELS]
    return "true" in declared or not any(declared)
