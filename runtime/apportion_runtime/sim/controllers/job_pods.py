"""The pods of a Job that are created at the same time: they differ only in name, uid and index.

Their pod group and their record are therefore those of the first, which is kept until a pod of another Job is created.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from apportion_api.kubernetes.names import JOB_INDEX_LABEL
from apportion_runtime.admission.grouping.grouping import Grouping
from apportion_runtime.admission.grouping.workloads import group_of_job_pod
from apportion_runtime.admission.objects import kind_of, labels_of, namespace_of, nested
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.controllers.running_workload import Group
from apportion_runtime.sim.scenario.format import Manifest

_JOB = ("batch", "Job")
_SHARED = ("namespace", "annotations", "ownerReferences", "creationTimestamp")
"""Metadata that is the same for all pods of a Job that are created at the same time."""


class JobPod(NamedTuple):
    """A pod of a Job, before it was assigned to its group.

    Attributes:
        made: The pod.
        owner: The Job.
        grouping: Its pod group.
        group: The same as created.
        record: The scheduler's record of it.
    """

    made: Manifest
    owner: Manifest
    grouping: Grouping
    group: Group
    record: Pod


class JobPods:
    """The first pod of the Job whose pods are created."""

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self._first: JobPod | None = None
        # Grouping also depends on the priority classes that exist.
        cluster_state.store.watch("PriorityClass", lambda _: self.forget())

    def forget(self) -> None:
        """Forget the first pod."""
        self._first = None

    def note(self, made: Manifest, grouping: Grouping, group: Group, record: Pod) -> None:
        """Remember a pod if it belongs to a Job and depends on no objects other than its Job and priority class."""
        owner = grouping.owner
        depends = record.claims or record.missing_claims or record.missing_config_maps or record.gpu_groups
        if kind_of(owner) == _JOB and not nested(owner, "metadata", "ownerReferences") and not depends:
            self._first = JobPod(made, owner, grouping, group, record)
        else:
            self._first = None

    def first_like(self, made: Manifest) -> JobPod | None:
        """Return the first pod if another pod belongs to the same Job, and its group still is as created."""
        first = self._first
        if first is None or not _are_alike(made, first.made):
            return None
        store, owner, group = self._cluster_state.store, first.owner, first.group
        namespace = namespace_of(made)
        is_current = (
            store.get("Job", namespace, owner["metadata"]["name"]) is owner
            and store.get("PodGroup", namespace, group.name) is group.made
            and store.get("PodGroup", namespace, group_of_job_pod(owner, made)) is None
        )
        return first if is_current else None


def _are_alike(made: Manifest, other: Manifest) -> bool:
    """Return whether two pods have the same template and creation time."""
    one, two = made["metadata"], other["metadata"]
    return (
        made["spec"] is other["spec"]
        and made.get("status") == other.get("status")
        and all(one.get(key) == two.get(key) for key in _SHARED)
        and {**labels_of(made), JOB_INDEX_LABEL: ""} == {**labels_of(other), JOB_INDEX_LABEL: ""}
    )


def record_like(first: JobPod, made: Manifest) -> Pod:
    """Return the record of another pod of a Job."""
    metadata = made["metadata"]
    return replace(first.record, uid=metadata["uid"], name=metadata["name"], labels=metadata["labels"])
