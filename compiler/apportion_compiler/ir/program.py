"""The desired state of a cluster, resolved: no references, no defaults, exact integers throughout.

Units: cpu in millicores, memory in bytes, gpu in thousandths of a device, weights in thousandths, times in seconds.
An `Amount` may be `UNLIMITED`; a missing key of a mapping is *unset*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from apportion_policy.engine_settings import AckSettings, KueueSettings, VolcanoSettings
from apportion_policy.kueue_objects import KueueQueue
from apportion_policy.limit_range import LimitRange
from apportion_policy.pool import Maintenance, Mig, Mps, TimeSlicing
from apportion_policy.providers import Ack, Eks, Fixed, Gke, Karpenter
from apportion_policy.quantity import Amount
from apportion_policy.source import SourceLocation

AS_THE_POLICY_SAYS = KueueQueue()
"""The default of a queue that declares no Kueue settings."""


@dataclass(frozen=True, slots=True)
class UserLimit:
    """A limit for one user of a queue, or for all users (`*`)."""

    user: str
    limit: Mapping[str, Amount]
    max_jobs: int | None


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue on this cluster.

    `guaranteed` has every managed resource (cpu, memory, gpu, gpu/<model>, others by name); `unmanaged` resources are
    those that no queue of the policy declares. `limit` and `lending_limit` have the declared amounts. `pools` and
    `priority_classes` are resolved: names of this cluster's pools that it may use, classes that its workloads may use.
    `namespaces` is empty on inner queues. `min runtimes` are the queue's own, unset where inherited.
    """

    id: str
    title: str | None
    parent: str | None
    children: tuple[str, ...]
    path: tuple[str, ...]
    owner: str | None
    namespaces: tuple[str, ...]
    users: tuple[UserLimit, ...]
    guaranteed: Mapping[str, Amount]
    limit: Mapping[str, Amount]
    lending_limit: Mapping[str, Amount]
    weight: Mapping[str, int]
    priority: int | None
    preempt_min_runtime: int | None
    reclaim_min_runtime: int | None
    gpu_sharing: bool
    pools: tuple[str, ...]
    priority_classes: tuple[str, ...]
    labels: Mapping[str, str]
    source: SourceLocation
    external_namespaces: tuple[str, ...] = ()
    kueue: KueueQueue = AS_THE_POLICY_SAYS
    first_namespace: str | None = None
    """The first namespace in the policy: that of workloads without a namespace."""
    default: bool = False
    limit_ranges: tuple[LimitRange, ...] = ()
    """Its own LimitRanges, or those of the nearest ancestor that has any."""
    queue_policy: str | None = None
    """Policy of kube-queue: its own, or that of the nearest ancestor that has one."""

    @property
    def is_leaf(self) -> bool:
        """Whether it is a leaf. Only leaves have workloads."""
        return not self.children


@dataclass(frozen=True, slots=True)
class PriorityClass:
    """A tier of workloads; `preemptible` is resolved (declared, else value < 100)."""

    name: str
    value: int
    preemptible: bool
    global_default: bool
    description: str | None
    installed_by_engine: bool
    source: SourceLocation


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint with Kubernetes' spelling of effects."""

    key: str
    value: str | None
    effect: str


@dataclass(frozen=True, slots=True)
class ProvisioningPlan:
    """Provisioning of capacity as one unit. The provider or the engine determines fields that are None."""

    id: str
    provisioning_class: str
    max_run_duration: int | None
    max_nodes_per_request: int | None
    retry_limit: int | None
    retry_backoff_base: int | None
    retry_backoff_max: int | None
    parameters: Mapping[str, str]
    source: SourceLocation


@dataclass(frozen=True, slots=True)
class NodePool:
    """Machines of one kind. `machine` is the allocatable resources of one: cpu, memory, gpu, gpu/<model>.

    `settings`, `sharing` and `maintenance` are the author's records, with resolved values only. `accelerator_name` is
    the provider's name for the GPU model, `plan` the id of a plan of the program.
    """

    id: str
    provider: str
    settings: Gke | Ack | Eks | Karpenter | Fixed
    machine_type: str | None
    gpu_model: str | None
    accelerator_name: str | None
    n_gpus: int
    gpu_memory: Amount | None
    machine: Mapping[str, Amount]
    min_nodes: int
    max_nodes: int
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    gpu_placement: str
    cpu_placement: str
    sharing: TimeSlicing | Mps | Mig | None
    plan: str | None
    spot: bool
    zones: tuple[str, ...]
    maintenance: Maintenance | None
    reservation: str | None
    topology: str | None
    source: SourceLocation


@dataclass(frozen=True, slots=True)
class Topology:
    """Node label keys, widest level first."""

    name: str
    levels: tuple[str, ...]
    source: SourceLocation


@dataclass(frozen=True, slots=True)
class LiveScheduler:
    """Apportion's scheduler in place of KAI's. Without the image, it does not share GPUs between pods."""

    reservation_image: str | None


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """KAI's settings of a cluster; `None` is KAI's default. `k_value` is the author's decimal text."""

    scheduler_name: str
    k_value: str | None
    preempt_min_runtime: int | None
    reclaim_min_runtime: int | None
    queue_depth_per_action: Mapping[str, int]
    max_consolidation_preemptees: int | None
    gpu_sharing: bool
    emit_installed_priority_classes: bool
    full_hierarchy_fairness: bool
    live_scheduler: LiveScheduler | None


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Program:
    """One cluster of one environment. Queues are in tree order: parents first, siblings by id.

    `plans` are those of the cluster's pools. `share` is the cluster's share of each declared amount.
    """

    organisation: str
    environment: str
    cluster: str
    engine: str
    engine_version: str
    kubernetes_version: str
    queues: tuple[Queue, ...]
    priority_classes: tuple[PriorityClass, ...]
    pools: tuple[NodePool, ...]
    plans: tuple[ProvisioningPlan, ...]
    topologies: tuple[Topology, ...]
    gpu_placement: str
    cpu_placement: str
    kai: EngineSettings
    kueue: KueueSettings
    volcano: VolcanoSettings
    ack: AckSettings
    unmanaged: tuple[str, ...]
    source: SourceLocation
    managed_elsewhere: tuple[str, ...] = ()
    admission: str = "deny"
    share: Fraction = Fraction(1)
