"""Node pools: machine types, their number, provider settings and taints."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Literal

from pydantic import Field

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_policy.declaration import Declaration
from apportion_policy.gpu_model import GpuModel
from apportion_policy.identifiers import Identifier, PlanRef
from apportion_policy.placement import Placement
from apportion_policy.providers import Ack, Eks, Fixed, Gke, Karpenter
from apportion_policy.resources import Cpu, Memory


class TaintEffect(str, Enum):
    """Taint effects as in Kubernetes; backends translate them to the provider's spelling."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class Taint(Declaration):
    """Repels pods without a matching toleration from a node."""

    key: Identifier = Field(description="Key of the taint, such as nvidia.com/gpu.")
    value: str | None = Field(default=None, description="Value of the taint, if any.")
    effect: TaintEffect = Field(default=TaintEffect.NO_SCHEDULE, description="Effect on pods without a toleration.")


GPU_TAINT = Taint(key=GPU_RESOURCE, value="present")


class Accelerator(Declaration):
    """The GPUs of a machine."""

    model: GpuModel = Field(
        description="Short lowercase name, such as h100, a100 or l4; used as the key in quantities."
    )
    count: int = Field(ge=1, le=64, description="Number of GPUs per machine.")
    memory: Memory | None = Field(default=None, description="Memory per GPU.")
    provider_name: str | None = Field(
        default=None, description="The provider's accelerator name, such as nvidia-h100-80gb."
    )


class TimeSlicing(Declaration):
    """Several workloads take turns on a GPU; memory is not isolated."""

    kind: Literal["time-slicing"] = Field(default="time-slicing", description="Discriminator in YAML and JSON.")
    clients: int = Field(ge=2, le=48, description="Maximum number of workloads per GPU.")


class Mps(Declaration):
    """Several workloads share a GPU concurrently through NVIDIA's Multi-Process Service."""

    kind: Literal["mps"] = Field(default="mps", description="Discriminator in YAML and JSON.")
    clients: int = Field(ge=2, le=48, description="Maximum number of workloads per GPU.")


class Mig(Declaration):
    """Each GPU is partitioned into isolated instances of one profile."""

    kind: Literal["mig"] = Field(default="mig", description="Discriminator in YAML and JSON.")
    profile: str = Field(pattern=r"^\dg\.\d+gb$", description="NVIDIA's profile name, such as 1g.10gb or 3g.40gb.")
    instances: int = Field(ge=1, le=7, description="Number of instances per GPU.")


class MaintenanceWindow(Declaration):
    """A recurring maintenance window of the provider (RFC 5545 recurrence)."""

    start: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$", description="Start of the first window.")
    end: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$", description="End of the first window.")
    recurrence: str = Field(pattern=r"^FREQ=", description="Recurrence rule (RFC 5545), such as FREQ=WEEKLY;BYDAY=SA.")


class MaintenanceExclusion(Declaration):
    """A period in which the provider may not upgrade nodes."""

    name: Identifier = Field(description="Name of the exclusion, unique in the pool.")
    start: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$", description="Start of the exclusion.")
    end: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$", description="End of the exclusion.")
    scope: Literal["no-upgrades", "no-minor-upgrades", "no-minor-or-node-upgrades"] = Field(
        default="no-upgrades", description="Upgrades that are excluded."
    )


class Maintenance(Declaration):
    """Maintenance windows and exclusions of the provider."""

    window: MaintenanceWindow | None = Field(
        default=None, description="When maintenance may happen. If unset, at any time."
    )
    exclusions: tuple[MaintenanceExclusion, ...] = Field(default=(), description="When upgrades are not allowed.")


class NodePool(Declaration):
    """A pool of identical machines."""

    id: Identifier = Field(description="Permanent identity, unique in the policy.")
    provider: Annotated[Gke | Ack | Eks | Karpenter | Fixed, Field(discriminator="kind")] = Field(
        default=Fixed(), description="Machine provider and its settings."
    )
    machine_type: str | None = Field(default=None, description="The provider's machine type, such as a3-highgpu-8g.")
    cpu: Cpu | None = Field(default=None, description="CPU cores available to workloads on each machine.")
    memory: Memory | None = Field(default=None, description="Memory available to workloads on each machine.")
    accelerator: Accelerator | None = Field(default=None, description="GPUs in each machine. If unset, no GPUs.")
    min_nodes: int = Field(default=0, ge=0, description="Minimum number of machines.")
    max_nodes: int = Field(ge=0, description="Maximum number of machines.")
    labels: Mapping[str, str] = Field(default={}, description="Node labels, in addition to those that backends add.")
    taints: tuple[Taint, ...] = Field(default=(), description="Taints on the pool's nodes.")
    spot: bool = Field(default=False, description="Use spot instances, which the provider may reclaim at any time.")
    zones: tuple[str, ...] = Field(default=(), description="Provider zones to use. If unset, the provider's default.")
    maintenance: Maintenance | None = Field(default=None, description="When the provider may disrupt the pool's nodes.")
    provisioning: PlanRef | None = Field(default=None, description="Plan for queued provisioning. If unset, none.")
    sharing: Annotated[TimeSlicing | Mps | Mig, Field(discriminator="kind")] | None = Field(
        default=None, description="How workloads share a GPU. If unset, no sharing."
    )
    reservation: str | None = Field(default=None, description="Capacity reservation with the provider.")
    topology: Identifier | None = Field(
        default=None, description="Name of the topology that the pool's nodes belong to."
    )
    placement: Placement | None = Field(default=None, description="Placement, if different from the cluster's.")

    @property
    def identity(self) -> str:
        """The id."""
        return self.id
