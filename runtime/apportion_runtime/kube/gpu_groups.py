"""The shared devices of a cluster: by group, the pods that share a device and the reservation pod that holds it.

Source: pkg/binder/binding/resourcereservation/resource_reservation.go (syncForPods), pkg/common/resources/gpu_sharing.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from apportion_api.kai.names import APP_LABEL, GPU_DEVICES_ANNOTATION, GPU_GROUP_LABEL
from apportion_runtime.kube.cluster import Manifest
from apportion_runtime.kube.gpu_reservation import ReservationSettings
from apportion_runtime.kube.gpu_sharing import is_group_label
from apportion_runtime.snapshots.kubernetes.gpus import gpu_group_labels, gpu_groups


@dataclass(frozen=True, slots=True)
class GpuGroups:
    """The groups of a cluster.

    Attributes:
        reservations: The reservation pod of each group.
        reserved_elsewhere: Groups with a reservation pod in another namespace than the configured one.
        in_use: The pods of each group that are bound and have not ended.
        unbound: Pods that are labelled with groups without being bound.
    """

    reservations: dict[str, Manifest] = field(default_factory=dict)
    reserved_elsewhere: set[str] = field(default_factory=set)
    in_use: dict[str, list[Manifest]] = field(default_factory=dict)
    unbound: list[Manifest] = field(default_factory=list)

    @property
    def lost(self) -> set[str]:
        """The groups in use whose devices have no reservation pod."""
        return self.in_use.keys() - self.reservations.keys() - self.reserved_elsewhere


def may_have_groups(pod: Manifest) -> bool:
    """Return whether the labels of a pod may have groups."""
    metadata = pod["metadata"]
    # KAI's binder gives only pods with fractions of several devices groups without this label.
    return GPU_GROUP_LABEL in (metadata.get("labels") or ()) or GPU_DEVICES_ANNOTATION in (
        metadata.get("annotations") or ()
    )


def read_groups(pods: Iterable[Manifest], settings: ReservationSettings) -> GpuGroups:
    """Return the groups of a cluster's pods; only those that may have groups are needed."""
    found = GpuGroups()
    for one in pods:
        metadata, groups = one["metadata"], labelled_groups(one)
        if not groups:
            continue
        if metadata["labels"].get(APP_LABEL) == settings.app:
            if metadata["namespace"] != settings.namespace:
                found.reserved_elsewhere.add(groups[0])
            # One that terminates holds its device for a pod that terminates as well, at most.
            elif "deletionTimestamp" not in metadata or groups[0] not in found.reservations:
                found.reservations[groups[0]] = one
        elif (one.get("status") or {}).get("phase") in ("Pending", "Running"):
            if one["spec"].get("nodeName"):
                for group in groups:
                    found.in_use.setdefault(group, []).append(one)
            else:
                found.unbound.append(one)
    return found


def labelled_groups(pod: Manifest) -> Sequence[str]:
    """Return the groups in the labels of a pod."""
    labels = pod["metadata"].get("labels") or {}
    return gpu_groups(labels) or sorted(labels[key] for key in labels if is_group_label(key))


def with_readable_groups(pod: Manifest) -> Manifest:
    """Return a pod with labels from which the engine reads its groups.

    KAI's binder labels a pod with fractions of several devices so that only its BindRequest has the groups.
    """
    labels = pod["metadata"].get("labels") or {}
    if GPU_GROUP_LABEL in labels or not any(map(is_group_label, labels)):
        return pod
    return labelled(pod, labelled_groups(pod))


def labelled(pod: Manifest, groups: Sequence[str]) -> Manifest:
    """Return a pod that is labelled with these groups only; at least one."""
    labels = pod["metadata"].get("labels") or {}
    others = {key: value for key, value in labels.items() if not is_group_label(key)}
    return {**pod, "metadata": {**pod["metadata"], "labels": {**others, **gpu_group_labels(groups)}}}
