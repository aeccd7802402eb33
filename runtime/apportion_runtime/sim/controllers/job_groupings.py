"""The pod groups of Jobs, which are the same for Jobs with the same labels and annotations, except for their identity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from apportion_api.kubernetes.names import JOB_INDEX_LABEL, JOB_NAME_LABEL
from apportion_runtime.admission.grouping import group as group_of
from apportion_runtime.admission.grouping.default import group_annotations, group_name
from apportion_runtime.admission.grouping.grouping import Grouping
from apportion_runtime.admission.grouping.pod_group import pod_group_of, pod_group_spec
from apportion_runtime.admission.grouping.workloads import group_of_job_pod
from apportion_runtime.admission.objects import Manifest, Objects, annotations_of, labels_of, namespace_of, uid_of

_JOB = ("batch/v1", "Job")
_OF_JOB = (JOB_NAME_LABEL, JOB_INDEX_LABEL)
"""Labels of a Job's pods on which no pod group depends."""
_MOST_KEPT = 10_000


class JobGrouping(NamedTuple):
    """The group of a Job's pods, and the spec of its object, which are the same for other Jobs except for their identity."""

    grouping: Grouping
    spec: Mapping[str, Any]


class JobGroupings:
    """The groups of pods; those of Jobs are kept by everything else that they depend on.

    Args:
        objects: The objects of the cluster; `forget` must be called when priority classes change.
        scheduler: The name of the engine's scheduler.
    """

    def __init__(self, objects: Objects, scheduler: str) -> None:
        self._objects = objects
        self._scheduler = scheduler
        self._known: dict[object, JobGrouping] = {}

    def forget(self) -> None:
        """Forget all groups."""
        self._known.clear()

    def of(self, pod: Manifest) -> Grouping | None:
        """Return the group of a pod. Raises `GroupingError`; see `apportion_runtime.admission.grouping.group`."""
        owner = self._job_of(pod)
        known = None if owner is None else self._known.get(_key(owner, pod))
        if owner is not None and known is not None:
            annotations = group_annotations(owner, pod)
            return replace(
                known.grouping,
                owner=owner,
                namespace=namespace_of(pod),
                name=group_name(owner),
                annotations=annotations,
            )
        made = group_of(pod, self._objects, scheduler=self._scheduler)
        if made is not None and owner is not None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[_key(owner, pod)] = JobGrouping(made, pod_group_spec(made))
        return made

    def new_group(self, pod: Manifest) -> tuple[JobGrouping, dict[str, Any]] | None:
        """Return the known group of a Job's pod with the PodGroup to create for it; None if it is not known."""
        owner = self._job_of(pod)
        known = None if owner is None else self._known.get(_key(owner, pod))
        if owner is None or known is None:
            return None
        fresh = pod_group_of(
            owner,
            known.spec,
            namespace=namespace_of(pod),
            name=group_name(owner),
            labels=known.grouping.labels,
            annotations=group_annotations(owner, pod),
        )
        return known, fresh

    def _job_of(self, pod: Manifest) -> Manifest | None:
        """Return the Job that owns a pod if nothing else does, and no group of an earlier version exists for the pod."""
        metadata = pod["metadata"]
        references = metadata.get("ownerReferences")
        if not references or len(references) > 1 or metadata.get("deletionTimestamp"):
            return None
        (reference,) = references
        if (reference.get("apiVersion"), reference.get("kind")) != _JOB:
            return None
        owner = self._objects.read(*_JOB, namespace_of(pod), reference["name"])
        if owner is None or uid_of(owner) != reference.get("uid") or owner["metadata"].get("ownerReferences"):
            return None
        if owner.get("apiVersion") != _JOB[0]:
            return None
        return owner if self._objects.get("PodGroup", namespace_of(pod), group_of_job_pod(owner, pod)) is None else None


def _key(owner: Manifest, pod: Manifest) -> object:
    """Return what the group of a Job's pod depends on, besides identities and priority classes."""
    spec = pod["spec"]
    return (
        tuple(labels_of(owner).items()),
        tuple(annotations_of(owner).items()),
        tuple([item for item in labels_of(pod).items() if item[0] not in _OF_JOB]),
        tuple(annotations_of(pod).items()),
        spec.get("schedulerName"),
        spec.get("priorityClassName"),
    )
