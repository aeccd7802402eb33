"""Provider-specific settings of node pools."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from apportion_policy.declaration import Declaration


class Fixed(Declaration):
    """Existing machines, such as on-premises racks or nodes that are managed elsewhere."""

    kind: Literal["fixed"] = Field(default="fixed", description="Discriminator in YAML and JSON.")


class Gke(Declaration):
    """Google Kubernetes Engine. Defaults are those of `gcloud container node-pools create`."""

    kind: Literal["gke"] = Field(default="gke", description="Discriminator in YAML and JSON.")
    version: str | None = Field(default=None, description="Cluster version, such as 1.31.4-gke.1183000.")
    release_channel: Literal["none", "rapid", "regular", "stable", "extended"] = Field(
        default="regular", description="Release channel of the cluster."
    )
    auto_repair: bool = Field(default=True, description="Recreate nodes that fail health checks.")
    auto_upgrade: bool = Field(default=True, description="Upgrade nodes when the control plane is upgraded.")
    location_policy: Literal["BALANCED", "ANY"] = Field(
        default="BALANCED", description="How the autoscaler distributes nodes across zones."
    )
    reservation_affinity: Literal["none", "any", "specific"] = Field(
        default="any", description="Which capacity reservations its nodes may use."
    )
    autoscaling: bool = Field(default=True, description="Scale between `min_nodes` and `max_nodes`.")
    driver_version: Literal["default", "latest", "disabled"] = Field(
        default="default", description="GPU driver that GKE installs; disabled installs none."
    )
    gvnic: bool = Field(default=False, description="Use Google Virtual NIC.")
    flex_start: bool = Field(default=False, description="Provision nodes with flex-start.")
    compact_placement: bool = Field(default=False, description="Place nodes physically close together.")
    node_auto_provisioning: bool = Field(default=False, description="Let GKE create the pool for a queued request.")


class Ack(Declaration):
    """Alibaba Cloud Container Service for Kubernetes."""

    kind: Literal["ack"] = Field(default="ack", description="Discriminator in YAML and JSON.")
    pool_type: Literal["ess", "lingjun"] = Field(default="ess", description="ECS or Lingjun nodes.")
    auto_repair: bool = Field(default=True, description="Repair nodes that fail health checks.")
    auto_upgrade: bool = Field(default=True, description="Upgrade nodes when the control plane is upgraded.")
    spot_strategy: Literal["NoSpot", "SpotWithPriceLimit", "SpotAsPriceGo"] = Field(
        default="NoSpot", description="Bidding strategy for spot instances."
    )
    deployment_set: str | None = Field(default=None, description="ID of the nodes' deployment set.")
    vswitches: tuple[str, ...] = Field(default=(), description="Ids of the nodes' vSwitches.")


class Eks(Declaration):
    """Amazon Elastic Kubernetes Service."""

    kind: Literal["eks"] = Field(default="eks", description="Discriminator in YAML and JSON.")
    managed: bool = Field(default=True, description="Use a managed node group; false: a self-managed group.")
    ami_type: str | None = Field(default=None, description="AMI type of a managed node group.")
    capacity_block: bool = Field(default=False, description="Use a Capacity Block for ML.")
    node_role: str | None = Field(default=None, description="ARN of the nodes' IAM role.")
    subnets: tuple[str, ...] = Field(default=(), description="IDs of the nodes' subnets.")
    node_repair: bool = Field(default=False, description="Let EKS repair unhealthy nodes.")


class Karpenter(Declaration):
    """Karpenter on AWS."""

    kind: Literal["karpenter"] = Field(default="karpenter", description="Discriminator in YAML and JSON.")
    node_class: str = Field(default="default", description="Name of the EC2NodeClass.")
    static_nodes: bool = Field(
        default=False, description="Always keep `min_nodes` nodes instead of scaling with demand."
    )
    consolidation: Literal["WhenEmpty", "WhenEmptyOrUnderutilized"] = Field(
        default="WhenEmpty", description="When Karpenter may remove a node."
    )
    consolidate_after: str = Field(default="5m", description="How long a node is kept after its pods last changed.")
    expire_after: str = Field(default="720h", description="Maximum lifetime of a node.")
    role: str | None = Field(default=None, description="Name of the nodes' IAM role.")
    ami_alias: str | None = Field(default=None, description="AMI alias of the EC2NodeClass, such as al2023@v20260101.")
    subnet_tags: dict[str, str] = Field(default={}, description="Tags that select subnets.")
    security_group_tags: dict[str, str] = Field(default={}, description="Tags that select security groups.")
