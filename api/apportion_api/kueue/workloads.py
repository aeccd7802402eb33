"""Kueue's Workload: the requests of a job, and its quota reservation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion_api.fields import Manifest, Written
from apportion_api.kueue.names import GROUP
from apportion_api.objects import ApiObject, each, flag, integer, mapping, optional_part, quantities, text, text_map


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition; `since` is the time of its last transition."""

    type: str = text("type", default="")
    status: str = text("status", default="")
    reason: str = text("reason", default="")
    since: str | None = text("lastTransitionTime")


@dataclass(frozen=True, slots=True)
class OwnerReference:
    """An owner reference."""

    kind: str = text("kind", default="")
    name: str = text("name", default="")


@dataclass(frozen=True, slots=True)
class WorkloadPodSet:
    """Pods of one template; `least` of them suffice for partial admission."""

    name: str = text("name", default="main")
    count: int | None = integer("count")
    least: int | None = integer("minCount")
    template: Manifest = mapping("template")
    topology_request: Manifest = mapping("topologyRequest")


@dataclass(frozen=True, slots=True)
class PodSetAssignment:
    """The flavors of a pod set by resource, and the usage of all its pods."""

    name: str = text("name", default="main")
    count: int | None = integer("count")
    flavors: Mapping[str, str] = text_map("flavors")
    usage: Mapping[str, Written] = quantities("resourceUsage")


@dataclass(frozen=True, slots=True)
class Admission:
    """A reservation of quota."""

    cluster_queue: str = text("clusterQueue", default="")
    pod_sets: tuple[PodSetAssignment, ...] = each("podSetAssignments", PodSetAssignment)


@dataclass(frozen=True, slots=True)
class CheckState:
    """The state of an admission check."""

    name: str = text("name", default="")
    state: str = text("state", default="")


@dataclass(frozen=True, slots=True)
class ReclaimablePods:
    """Pods of a pod set that have ended and whose quota is released."""

    name: str = text("name", default="")
    count: int | None = integer("count")


@dataclass(frozen=True, slots=True)
class Workload(ApiObject):
    """A Workload. `priority_class` is that of either API version."""

    group = GROUP
    namespace: str = text("metadata.namespace", default="")
    uid: str = text("metadata.uid", default="")
    created: str | None = text("metadata.creationTimestamp")
    annotations: Mapping[str, str] = text_map("metadata.annotations")
    owners: tuple[OwnerReference, ...] = each("metadata.ownerReferences", OwnerReference)
    local_queue: str = text("spec.queueName", default="")
    active: bool | None = flag("spec.active")
    priority: int | None = integer("spec.priority")
    priority_class: str = text("spec.priorityClassRef.name", "spec.priorityClassName", default="")
    pod_sets: tuple[WorkloadPodSet, ...] = each("spec.podSets", WorkloadPodSet)
    admission: Admission | None = optional_part("status.admission", Admission)
    conditions: tuple[Condition, ...] = each("status.conditions", Condition)
    checks: tuple[CheckState, ...] = each("status.admissionChecks", CheckState)
    reclaimable: tuple[ReclaimablePods, ...] = each("status.reclaimablePods", ReclaimablePods)
    requeue_at: str | None = text("status.requeueState.requeueAt")

    @property
    def key(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.name}"

    def condition(self, kind: str) -> Condition | None:
        """Return a condition whose status is True; None if there is none."""
        return next((each for each in self.conditions if each.type == kind and each.status == "True"), None)
