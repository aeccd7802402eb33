"""What a provider of machines lets one set on a node pool, beside what every pool has."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from apportion_policy.declaration import Declaration


class Fixed(Declaration):
    """Machines that are there: racks, or nodes somebody else manages."""

    kind: Literal["fixed"] = "fixed"


class Gke(Declaration):
    """Google Kubernetes Engine. Defaults are those of `gcloud container node-pools create`."""

    kind: Literal["gke"] = "gke"
    version: str | None = Field(default=None, description="Cluster version: 1.31.4-gke.1183000.")
    release_channel: Literal["none", "rapid", "regular", "stable", "extended"] = "regular"
    auto_repair: bool = True
    auto_upgrade: bool = True
    location_policy: Literal["BALANCED", "ANY"] = "BALANCED"
    reservation_affinity: Literal["none", "any", "specific"] = "any"
    autoscaling: bool = True
    driver_version: Literal["default", "latest", "disabled"] = "default"
    gvnic: bool = False
    flex_start: bool = False
    compact_placement: bool = False
    node_auto_provisioning: bool = Field(default=False, description="Let GKE make the pool for a queued request.")


class Ack(Declaration):
    """Alibaba Cloud Container Service for Kubernetes."""

    kind: Literal["ack"] = "ack"
    pool_type: Literal["ess", "lingjun"] = "ess"
    auto_repair: bool = True
    auto_upgrade: bool = True
    spot_strategy: Literal["NoSpot", "SpotWithPriceLimit", "SpotAsPriceGo"] = "NoSpot"
    deployment_set: str | None = None
    vswitches: tuple[str, ...] = ()


class Eks(Declaration):
    """Amazon Elastic Kubernetes Service."""

    kind: Literal["eks"] = "eks"
    managed: bool = Field(default=True, description="A managed node group; false for a self-scaled group.")
    ami_type: str | None = None
    capacity_block: bool = False
    node_role: str | None = None
    subnets: tuple[str, ...] = ()
    node_repair: bool = False


class Karpenter(Declaration):
    """Karpenter on AWS."""

    kind: Literal["karpenter"] = "karpenter"
    node_class: str = "default"
    static_nodes: bool = Field(default=False, description="Keep min_nodes always, instead of following demand.")
    consolidation: Literal["WhenEmpty", "WhenEmptyOrUnderutilized"] = "WhenEmpty"
    consolidate_after: str = "5m"
    expire_after: str = "720h"
    role: str | None = None
    ami_alias: str | None = None
    subnet_tags: dict[str, str] = Field(default={})
    security_group_tags: dict[str, str] = Field(default={})
