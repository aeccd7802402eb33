"""Queue, PodGroup, SchedulingShard and Topology, by the paths of their fields; the CRDs have no defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from apportion_api.kai.names import CONFIGURATION_GROUP, GROUP, NODE_POOL_LABEL
from apportion_api.objects import (
    ApiObject,
    each,
    flag,
    integer,
    integers,
    named,
    number,
    optional_each,
    optional_part,
    optional_text_map,
    part,
    text,
    text_map,
)


@dataclass(frozen=True, slots=True)
class QueueResource:
    """The numbers of a resource: millicores, megabytes of 10^6 bytes, or devices. KAI treats a missing number as 0."""

    quota: float | None = number("quota")
    limit: float | None = number("limit")
    weight: float | None = number("overQuotaWeight")


@dataclass(frozen=True, slots=True)
class QueueResources:
    """The resources that a queue counts, by KAI's names."""

    cpu: QueueResource = part("cpu", QueueResource)
    memory: QueueResource = part("memory", QueueResource)
    gpu: QueueResource = part("gpu", QueueResource)


@dataclass(frozen=True, slots=True)
class Queue(ApiObject):
    """A Queue. The webhook requires `resources`, which may be empty."""

    group = GROUP
    labels: Mapping[str, str] = text_map("metadata.labels")
    title: str | None = text("spec.displayName")
    parent: str | None = text("spec.parentQueue")
    priority: int | None = integer("spec.priority")
    preempt_min_runtime: str | None = text("spec.preemptMinRuntime")
    reclaim_min_runtime: str | None = text("spec.reclaimMinRuntime")
    resources: QueueResources | None = optional_part("spec.resources", QueueResources)

    @property
    def partition(self) -> str:
        """The shard of the queue; empty for the default shard."""
        return self.labels.get(NODE_POOL_LABEL, "")

    def resource(self, name: str) -> QueueResource:
        """Return the numbers of `cpu`, `memory` or `gpu`."""
        held = self.resources or QueueResources()
        return {"cpu": held.cpu, "memory": held.memory, "gpu": held.gpu}[name]

    def counted(self, name: str, field: Literal["quota", "limit", "overQuotaWeight"]) -> float | None:
        """Return a number as KAI counts it: 0 if it is missing; None if it is malformed."""
        held = self.resource(name)
        value = {"quota": held.quota, "limit": held.limit, "overQuotaWeight": held.weight}[field]
        if value is None:
            place = ("spec", "resources", name, field)
            return None if any(fault.steps == place for fault in self.faults) else 0
        return value


@dataclass(frozen=True, slots=True)
class TopologyConstraint:
    """The levels of a topology at which pods must and should run together; a level is a node label or its alias."""

    topology: str = text("topology", default="")
    required: str = text("requiredTopologyLevel", default="")
    preferred: str = text("preferredTopologyLevel", default="")


@dataclass(frozen=True, slots=True)
class SubGroup:
    """A sub-group of a pod group, below another one or at the top."""

    name: str | None = text("name")
    parent: str | None = text("parent")
    min_member: int | None = integer("minMember")
    min_sub_group: int | None = integer("minSubGroup")
    constraint: TopologyConstraint | None = optional_part("topologyConstraint", TopologyConstraint)


@dataclass(frozen=True, slots=True)
class SchedulingCondition:
    """The decision of a shard's scheduler about a pod group."""

    node_pool: str = text("nodePool", default="")
    transition: str | None = text("transitionID")


@dataclass(frozen=True, slots=True)
class OwnerReference:
    """An owner reference."""

    kind: str | None = text("kind")
    name: str | None = text("name")


@dataclass(frozen=True, slots=True)
class PodGroup(ApiObject):
    """A PodGroup; one without a queue is never scheduled."""

    group = GROUP
    namespace: str = text("metadata.namespace", default="")
    labels: Mapping[str, str] = text_map("metadata.labels")
    annotations: Mapping[str, str] = text_map("metadata.annotations")
    owners: tuple[OwnerReference, ...] = each("metadata.ownerReferences", OwnerReference)
    queue: str | None = text("spec.queue")
    min_member: int | None = integer("spec.minMember")
    min_sub_group: int | None = integer("spec.minSubGroup")
    priority_class: str | None = text("spec.priorityClassName")
    preemptibility: str | None = text("spec.preemptibility")
    preemption_delay: str | None = text("spec.preemptionDelay")
    staleness_grace: str | None = text("spec.stalenessGracePeriod")
    backoff: int | None = integer("spec.schedulingBackoff")
    constraint: TopologyConstraint = part("spec.topologyConstraint", TopologyConstraint)
    sub_groups: tuple[SubGroup, ...] = each("spec.subGroups", SubGroup)
    conditions: tuple[SchedulingCondition, ...] = each("status.schedulingConditions", SchedulingCondition)


@dataclass(frozen=True, slots=True)
class ActionOverride:
    """A shard's change of an action; without `enabled`, the default applies."""

    enabled: bool | None = flag("enabled")
    priority: int | None = integer("priority")


@dataclass(frozen=True, slots=True)
class PluginOverride:
    """A shard's change of a plugin."""

    enabled: bool | None = flag("enabled")
    priority: int | None = integer("priority")
    arguments: Mapping[str, str] | None = optional_text_map("arguments")


@dataclass(frozen=True, slots=True)
class SchedulingShard(ApiObject):
    """A SchedulingShard: a separate scheduler for a partition of the nodes."""

    group = CONFIGURATION_GROUP
    partition: str = text("spec.partitionLabelValue", default="")
    arguments: Mapping[str, str] = text_map("spec.args")
    k_value: float | None = number("spec.kValue")
    placement: Mapping[str, str] = text_map("spec.placementStrategy")
    preempt_min_runtime: str | None = text("spec.minRuntime.preemptMinRuntime")
    reclaim_min_runtime: str | None = text("spec.minRuntime.reclaimMinRuntime")
    queue_depth: Mapping[str, int] = integers("spec.queueDepthPerAction")
    plugins: Mapping[str, PluginOverride] = named("spec.plugins", PluginOverride)
    actions: Mapping[str, ActionOverride] = named("spec.actions", ActionOverride)


@dataclass(frozen=True, slots=True)
class Level:
    """A level of a topology."""

    label: str | None = text("nodeLabel")
    alias: str | None = text("alias")


@dataclass(frozen=True, slots=True)
class Topology(ApiObject):
    """A Topology, the widest level first."""

    group = CONFIGURATION_GROUP
    levels: tuple[Level, ...] | None = optional_each("spec.levels", Level)
