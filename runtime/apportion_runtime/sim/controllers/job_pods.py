"""The pods of a Job that are created at the same time: they differ only in name, uid and index.

What an engine reads of the first, such as its group and its record, is therefore kept until a pod of another Job is
created.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from apportion_api.kai.names import POD_GROUP_PREFIX
from apportion_api.kubernetes.names import JOB_INDEX_LABEL
from apportion_runtime.admission.expansion import Slot
from apportion_runtime.admission.grouping.workloads import group_of_job_pod
from apportion_runtime.admission.objects import kind_of, labels_of, namespace_of, nested
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.scenario.format import Manifest

_JOB = ("batch", "Job")
_SHARED = ("namespace", "annotations", "ownerReferences", "creationTimestamp")
"""Metadata that is the same for all pods of a Job that are created at the same time."""

Reading = TypeVar("Reading")


class JobPods(Generic[Reading]):
    """What was read of the first pod of the Job whose pods are created."""

    def __init__(self, cluster_state: ClusterState) -> None:
        self._store = cluster_state.store
        # The pod, its Job, and what was read of it.
        self._first: tuple[Manifest, Manifest, Reading] | None = None
        # Groups and priorities also depend on the priority classes that exist.
        self._store.watch("PriorityClass", lambda _: self.forget())

    def forget(self) -> None:
        """Forget the first pod."""
        self._first = None

    def note(self, made: Manifest, record: Pod, reading: Reading) -> None:
        """Keep what was read of a pod if it depends on no objects other than its Job and priority class.

        Args:
            made: The pod, before it was assigned to its group.
            record: The scheduler's record of it.
            reading: What its other pods share.
        """
        depends = record.claims or record.missing_claims or record.missing_config_maps or record.gpu_groups
        owner = None if depends else self._job_of(made)
        self._first = None if owner is None else (made, owner, reading)

    def _job_of(self, made: Manifest) -> Manifest | None:
        """Return the Job that owns a pod if nothing else does, directly or not."""
        references = made["metadata"].get("ownerReferences")
        if not references or len(references) > 1:
            return None
        owner = self._store.get(references[0]["kind"], namespace_of(made), references[0]["name"])
        is_job = owner is not None and kind_of(owner) == _JOB and not nested(owner, "metadata", "ownerReferences")
        return owner if is_job else None

    def of_first(self, made: Manifest) -> Reading | None:
        """Return what was read of the first pod if another pod belongs to the same Job, and the Job did not change."""
        if self._first is None:
            return None
        first, owner, reading = self._first
        if not _are_alike(made, first):
            return None
        namespace = namespace_of(made)
        is_current = (
            self._store.get("Job", namespace, owner["metadata"]["name"]) is owner
            and self._store.get("PodGroup", namespace, group_of_job_pod(owner, made)) is None
        )
        return reading if is_current else None

    def of_slot(self, slot: Slot, name: str, now: str) -> Reading | None:
        """Return what was read of the first pod if a pod to be created is one of the same Job, and the Job did not change.

        Args:
            slot: The slot of the pod.
            name: Its name.
            now: The current time, as objects store it.
        """
        if self._first is None:
            return None
        first, owner, reading = self._first
        # A pod that admission changed has another spec or other annotations than its slot.
        metadata, identity = first["metadata"], owner["metadata"]
        is_alike = (
            first["spec"] is slot.spec
            and metadata["annotations"] is slot.annotations
            and metadata["creationTimestamp"] == now
            and slot.owner == ("Job", identity["name"])
            and _differ_in_index(slot.labels, metadata["labels"])
        )
        if not is_alike:
            return None
        namespace = metadata["namespace"]
        is_current = (
            self._store.get("Job", namespace, identity["name"]) is owner
            and self._store.get("PodGroup", namespace, f"{POD_GROUP_PREFIX}-{name}-{identity['uid']}") is None
        )
        return reading if is_current else None


def _differ_in_index(labels: Mapping[str, str], others: Mapping[str, str]) -> bool:
    """Return whether the labels of two pods are the same except for the index."""
    return {**labels, JOB_INDEX_LABEL: ""} == {**others, JOB_INDEX_LABEL: ""}


def _are_alike(made: Manifest, other: Manifest) -> bool:
    """Return whether two pods have the same template and creation time."""
    one, two = made["metadata"], other["metadata"]
    return (
        made["spec"] is other["spec"]
        and made.get("status") == other.get("status")
        and all(one.get(key) == two.get(key) for key in _SHARED)
        and _differ_in_index(labels_of(made), labels_of(other))
    )


def record_like(first: Pod, made: Manifest) -> Pod:
    """Return the record of another pod of a Job."""
    metadata = made["metadata"]
    return first.like(metadata["uid"], metadata["name"], metadata["labels"])
