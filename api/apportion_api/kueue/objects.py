"""Kueue's objects, by the paths of their fields; defaults are those of the CRDs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apportion_api.fields import Manifest, Written
from apportion_api.kueue.names import BEST_EFFORT, GROUP, NEVER, NEXT_FLAVOR, NOT_STOPPED, STOP_SEARCH
from apportion_api.objects import (
    ApiObject,
    LabelSelector,
    each,
    integer,
    mappings,
    optional_part,
    part,
    quantity,
    text,
    text_map,
    texts,
)


class _KueueObject(ApiObject):
    __slots__ = ()
    group = GROUP


@dataclass(frozen=True, slots=True)
class ResourceQuota:
    """The quota of a resource on a flavor; a limit that is None is unlimited."""

    resource: str = text("name", default="")
    nominal: Written | None = quantity("nominalQuota")
    borrowing_limit: Written | None = quantity("borrowingLimit")
    lending_limit: Written | None = quantity("lendingLimit")


@dataclass(frozen=True, slots=True)
class FlavorQuotas:
    """The quotas on a flavor."""

    flavor: str = text("name", default="")
    resources: tuple[ResourceQuota, ...] = each("resources", ResourceQuota)


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Resources that are counted on flavors, in order."""

    resources: tuple[str, ...] = texts("coveredResources")
    flavors: tuple[FlavorQuotas, ...] = each("flavors", FlavorQuotas)


@dataclass(frozen=True, slots=True)
class Preemption:
    """`spec.preemption`; `threshold` belongs to `borrowWithinCohort`, whose policy is `borrowing`."""

    within_queue: str = text("withinClusterQueue", default=NEVER)
    reclaim: str = text("reclaimWithinCohort", default=NEVER)
    borrowing: str = text("borrowWithinCohort.policy", default=NEVER)
    threshold: int | None = integer("borrowWithinCohort.maxPriorityThreshold")


@dataclass(frozen=True, slots=True)
class Fungibility:
    """Flavor fungibility: whether to try the next flavor before borrowing or preempting."""

    when_can_borrow: str = text("whenCanBorrow", default=STOP_SEARCH)
    when_can_preempt: str = text("whenCanPreempt", default=NEXT_FLAVOR)
    preference: str | None = text("preference")


@dataclass(frozen=True, slots=True)
class FlavorConstraints:
    """Limits of the migration of workloads by concurrent admission."""

    last_flavor: str | None = text("lastAcceptableFlavorName")


@dataclass(frozen=True, slots=True)
class ConcurrentAdmission:
    """`spec.concurrentAdmissionPolicy`."""

    mode: str | None = text("migration.mode")
    constraints: FlavorConstraints | None = optional_part("migration.constraints", FlavorConstraints)


@dataclass(frozen=True, slots=True)
class CheckRule:
    """An AdmissionCheck of a ClusterQueue for workloads on some flavors; on all if none is listed."""

    name: str = text("name", default="")
    flavors: tuple[str, ...] = texts("onFlavors")


@dataclass(frozen=True, slots=True)
class QuotaHolder(_KueueObject):
    """A Cohort or a ClusterQueue; `parent` is its parent Cohort."""

    parent: str | None = None
    groups: tuple[ResourceGroup, ...] = each("spec.resourceGroups", ResourceGroup)
    weight: Written | None = quantity("spec.fairSharing.weight")

    @property
    def flavors(self) -> list[str]:
        """The flavors with quotas, in order."""
        return [flavor.flavor for group in self.groups for flavor in group.flavors]

    def quotas(self) -> Iterator[tuple[str, str, ResourceQuota]]:
        """Yield the path of each quota, its flavor, and the quota."""
        for number, group in enumerate(self.groups):
            for place, flavor in enumerate(group.flavors):
                for at, quota in enumerate(flavor.resources):
                    yield f"spec.resourceGroups[{number}].flavors[{place}].resources[{at}]", flavor.flavor, quota


@dataclass(frozen=True, slots=True)
class Cohort(QuotaHolder):
    """A Cohort."""

    parent: str | None = text("spec.parentName", "spec.parent")


@dataclass(frozen=True, slots=True)
class ClusterQueue(QuotaHolder):
    """A ClusterQueue; without a selector, it admits workloads of no namespace.

    `former_cohort` and `former_checks`, which apply to every flavor, are fields of v1beta1.
    """

    parent: str | None = text("spec.cohortName", "spec.cohort")
    former_cohort: str | None = text("spec.cohort")
    preemption: Preemption = part("spec.preemption", Preemption)
    fungibility: Fungibility = part("spec.flavorFungibility", Fungibility)
    strategy: str = text("spec.queueingStrategy", default=BEST_EFFORT)
    stop_policy: str = text("spec.stopPolicy", default=NOT_STOPPED)
    selector: LabelSelector | None = optional_part("spec.namespaceSelector", LabelSelector)
    checks: tuple[CheckRule, ...] = each("spec.admissionChecksStrategy.admissionChecks", CheckRule)
    former_checks: tuple[str, ...] = texts("spec.admissionChecks")
    concurrent_admission: ConcurrentAdmission | None = optional_part(
        "spec.concurrentAdmissionPolicy", ConcurrentAdmission
    )

    @property
    def all_checks(self) -> tuple[CheckRule, ...]:
        """The checks of both API versions."""
        return (*self.checks, *map(CheckRule, self.former_checks))


@dataclass(frozen=True, slots=True)
class LocalQueue(_KueueObject):
    """A LocalQueue."""

    namespace: str = text("metadata.namespace", default="")
    cluster_queue: str | None = text("spec.clusterQueue")
    stop_policy: str = text("spec.stopPolicy", default=NOT_STOPPED)


@dataclass(frozen=True, slots=True)
class ResourceFlavor(_KueueObject):
    """A ResourceFlavor, with Kubernetes' taints and tolerations unchanged."""

    labels: Mapping[str, str] = text_map("spec.nodeLabels")
    taints: tuple[Manifest, ...] = mappings("spec.nodeTaints")
    tolerations: tuple[Manifest, ...] = mappings("spec.tolerations")
    topology: str | None = text("spec.topologyName")


@dataclass(frozen=True, slots=True)
class _Level:
    label: str = text("nodeLabel", default="")


@dataclass(frozen=True, slots=True)
class Topology(_KueueObject):
    """A Topology, the widest level first."""

    levels: tuple[_Level, ...] = each("spec.levels", _Level)

    @property
    def labels(self) -> tuple[str, ...]:
        """The node labels of its levels."""
        return tuple(level.label for level in self.levels)


@dataclass(frozen=True, slots=True)
class WorkloadPriorityClass(_KueueObject):
    """A WorkloadPriorityClass."""

    value: int | None = integer("value")
    description: str | None = text("description")


@dataclass(frozen=True, slots=True)
class AdmissionCheck(_KueueObject):
    """An AdmissionCheck, with a reference to the object of its parameters."""

    controller: str | None = text("spec.controllerName")
    parameters_kind: str | None = text("spec.parameters.kind")
    parameters: str | None = text("spec.parameters.name")


@dataclass(frozen=True, slots=True)
class NodeLabelUpdate:
    """A key of node labels, and the detail of the provisioning class with its value."""

    key: str = text("key", default="")
    detail: str = text("valueFromProvisioningClassDetail", default="")


@dataclass(frozen=True, slots=True)
class ProvisioningRequestConfig(_KueueObject):
    """A ProvisioningRequestConfig."""

    provisioning_class: str | None = text("spec.provisioningClassName")
    parameters: Mapping[str, str] = text_map("spec.parameters")
    managed_resources: tuple[str, ...] = texts("spec.managedResources")
    merge_policy: str | None = text("spec.podSetMergePolicy")
    retry_limit: int | None = integer("spec.retryStrategy.backoffLimitCount")
    backoff_base_s: int | None = integer("spec.retryStrategy.backoffBaseSeconds")
    backoff_max_s: int | None = integer("spec.retryStrategy.backoffMaxSeconds")
    node_labels: tuple[NodeLabelUpdate, ...] = each("spec.podSetUpdates.nodeSelector", NodeLabelUpdate)

    @property
    def retries(self) -> tuple[int, int, int]:
        """The number of retries, and the seconds of the first and of the longest backoff."""
        written = zip((self.retry_limit, self.backoff_base_s, self.backoff_max_s), (3, 60, 1800), strict=True)
        limit, base_s, max_s = (default if value is None else value for value, default in written)
        return limit, base_s, max_s
