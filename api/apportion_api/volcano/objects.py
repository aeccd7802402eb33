"""Queue and PodGroup, by the paths of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion_api.fields import Manifest, Written
from apportion_api.objects import (
    ApiObject,
    flag,
    integer,
    integers,
    mapping,
    mappings,
    optional_quantities,
    optional_texts,
    quantities,
    text,
    text_map,
    texts,
)
from apportion_api.volcano.names import GROUP

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class Queue(ApiObject):
    """A Queue; `former_state` is the state's path in older versions."""

    group = GROUP
    created: str | None = text("metadata.creationTimestamp")
    labels: Mapping[str, str] = text_map("metadata.labels")
    annotations: Mapping[str, str] = text_map("metadata.annotations")
    parent: str | None = text("spec.parent")
    weight: int | None = integer("spec.weight")
    priority: int | None = integer("spec.priority")
    reclaimable: bool | None = flag("spec.reclaimable")
    strategy: str | None = text("spec.dequeueStrategy")
    capability: Mapping[str, Written] = quantities("spec.capability")
    deserved: Mapping[str, Written] = quantities("spec.deserved")
    guarantee: Mapping[str, Written] = quantities("spec.guarantee.resource")
    affinity: Manifest = mapping("spec.affinity")
    node_groups: tuple[str, ...] | None = optional_texts(f"spec.affinity.nodeGroupAffinity.{_REQUIRED}")
    preferred_groups: tuple[str, ...] = texts(f"spec.affinity.nodeGroupAffinity.{_PREFERRED}")
    shunned_groups: tuple[str, ...] = texts(f"spec.affinity.nodeGroupAntiAffinity.{_REQUIRED}")
    disliked_groups: tuple[str, ...] = texts(f"spec.affinity.nodeGroupAntiAffinity.{_PREFERRED}")
    state: str | None = text("status.state")
    former_state: str | None = text("spec.state")
    allocated: Mapping[str, Written] = quantities("status.allocated")


@dataclass(frozen=True, slots=True)
class PodGroup(ApiObject):
    """A PodGroup."""

    group = GROUP
    namespace: str | None = text("metadata.namespace")
    queue: str | None = text("spec.queue")
    min_member: int | None = integer("spec.minMember")
    task_least: Mapping[str, int] = integers("spec.minTaskMember")
    min_resources: Mapping[str, Written] | None = optional_quantities("spec.minResources")
    priority_class: str | None = text("spec.priorityClassName")
    network_topology: Manifest = mapping("spec.networkTopology")
    sub_groups: tuple[Manifest, ...] = mappings("spec.subGroupPolicy")
