"""Assigning pods to pod groups on a cluster: creates and updates the objects as KAI's pod grouper does.

Source: pkg/podgrouper (pod_controller.go, podgroup/handler.go) at d5bc503a.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from apportion_api.kai.names import POD_GROUP_ANNOTATION, SUB_GROUP_LABEL
from apportion_runtime.admission.grouping import group
from apportion_runtime.admission.grouping.grouping import Grouping
from apportion_runtime.admission.grouping.pod_group import pod_group
from apportion_runtime.admission.objects import (
    GroupingError,
    Unreadable,
    annotations_of,
    labels_of,
    namespace_of,
    spec_of,
)
from apportion_runtime.kube.cluster import Key, Manifest, ObjectAccess
from apportion_runtime.kube.resources import POD, POD_GROUP

_WRITTEN = ("labels", "annotations", "ownerReferences")


class PodGrouper:
    """Groups the pods of one cycle; each owner is read once.

    Args:
        cluster: The cluster.
        scheduler: The `schedulerName` of the pods.
        absent: Groups that did not exist when they were read in earlier cycles, by namespace and name; receives those of
            this one. If one is created later, its watch delivers it.
    """

    def __init__(self, cluster: ObjectAccess, scheduler: str, absent: set[Key] | None = None) -> None:
        self._cluster = cluster
        self._scheduler = scheduler
        self._read: dict[tuple[str, str, str, str], Manifest | Unreadable | None] = {}
        self._stored: set[Key] = set()
        self._absent = set() if absent is None else absent

    def is_due(self, pod: Manifest) -> bool:
        """Return whether a pod has no pod group yet, or names one that does not exist."""
        name = annotations_of(pod).get(POD_GROUP_ANNOTATION)
        return name is None or self._cluster.get(POD_GROUP, namespace_of(pod), name) is None

    def has_stored_group(self, pod: Manifest) -> bool:
        """Return whether the API server has the group of a pod that is due: its watch is behind that of pods.

        Raises:
            Refused: If the API server rejects the read.
            Unreachable: If it does not respond.
        """
        name = annotations_of(pod).get(POD_GROUP_ANNOTATION)
        if name is None:
            return False
        key = (namespace_of(pod), name)
        if key not in self._stored and key not in self._absent:
            found = self._stored if self._cluster.is_stored(POD_GROUP, *key) else self._absent
            found.add(key)
        return key in self._stored

    def grouping_of(self, pod: Manifest) -> Grouping | None:
        """Return the group of a pod; None for a pod that is not to be grouped.

        Raises:
            GroupingError: If no group can be created.
            Refused: If the API server rejects the read of an owner.
        """
        return group(pod, self, scheduler=self._scheduler)

    def unstored_grouping_of(self, pod: Manifest) -> Grouping | None:
        """Return the group of a pod whose pod group does not exist; None for a pod that is not to be grouped.

        KAI's pod grouper leaves a pod without owners that names a group without one, also if it has created the group
        itself; this returns the group in the second case.

        Raises:
            GroupingError: If no group can be created, or if the pod has no owner and names a group that its author must
                create.
            Refused: If the API server rejects the read of an owner.
        """
        name = annotations_of(pod).get(POD_GROUP_ANNOTATION)
        if name is None or pod["metadata"].get("ownerReferences"):
            return self.grouping_of(pod)
        made = self.grouping_of(_unmarked(pod))
        if made is None or made.name != name:
            raise GroupingError(
                f"pod group `{name}` does not exist; create it, or remove the annotation {POD_GROUP_ANNOTATION}"
            )
        return made

    def mark(self, pod: Manifest, grouping: Grouping) -> None:
        """Mark a pod as one of a group. Raises `Refused` if the API server rejects it."""
        metadata: dict[str, Any] = {}
        if annotations_of(pod).get(POD_GROUP_ANNOTATION) != grouping.name:
            metadata["annotations"] = {POD_GROUP_ANNOTATION: grouping.name}
        if grouping.sub_group and labels_of(pod).get(SUB_GROUP_LABEL) != grouping.sub_group:
            metadata["labels"] = {SUB_GROUP_LABEL: grouping.sub_group}
        if metadata:
            self._cluster.merge(POD, namespace_of(pod), pod["metadata"]["name"], {"metadata": metadata})

    def put(self, grouping: Grouping) -> None:
        """Create or update the PodGroup of a group. Raises `Refused` if the API server rejects it."""
        before = self._cluster.get(POD_GROUP, grouping.namespace, grouping.name)
        made = pod_group(grouping, before)
        if before is None:
            self._cluster.create(made)
            return
        metadata = {key: made["metadata"][key] for key in _WRITTEN}
        old = {key: before["metadata"].get(key) or type(value)() for key, value in metadata.items()}
        changed: dict[str, Any] = {}
        if patch := _patch(old, metadata):
            changed["metadata"] = patch
        if patch := _patch(spec_of(before), made["spec"]):
            changed["spec"] = patch
        if changed:
            self._cluster.merge(POD_GROUP, grouping.namespace, grouping.name, changed)

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return an object that the scheduler watches."""
        return self._cluster.get(kind, namespace, name)

    def read(self, api_version: str, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return an object of any kind. Raises `Unreadable` if the account may not read it."""
        key = (api_version, kind, namespace, name)
        if key not in self._read:
            try:
                self._read[key] = self._cluster.read(*key)
            except Unreadable as unreadable:
                self._read[key] = unreadable
        found = self._read[key]
        if isinstance(found, Unreadable):
            raise found
        return found

    def pods(self, namespace: str, labels: Mapping[str, str]) -> Iterable[Manifest]:
        """Return the pods with these labels."""
        return self._cluster.pods(namespace, labels)


def _unmarked(pod: Manifest) -> Manifest:
    annotations = {key: value for key, value in annotations_of(pod).items() if key != POD_GROUP_ANNOTATION}
    return {**pod, "metadata": {**pod["metadata"], "annotations": annotations}}


def _patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the merge patch between two objects; null removes a field."""
    patch: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            if nested_patch := _patch(old, value):
                patch[key] = nested_patch
        elif old != value:
            patch[key] = value
    return patch
