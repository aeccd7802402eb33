"""Environments and their clusters, with engines and node pools."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from apportion_policy.declaration import Declaration
from apportion_policy.duration import Duration
from apportion_policy.engine import Engine
from apportion_policy.engine_settings import AckSettings, KaiSettings, KueueSettings, VolcanoSettings
from apportion_policy.identifiers import Identifier, PoolRef, QueueRef
from apportion_policy.placement import Placement, Topology
from apportion_policy.resources import REPLACE, AmountField, OverQuotaWeight, Resources, check_replaced

ObjectFamily = Literal["access", "admission", "namespaces", "priority-classes", "quotas"]
"""Objects in addition to the engine's queues: access is RBAC, quotas are ResourceQuota and LimitRange."""


def _share(value: str | int | Fraction) -> str:
    text = str(value).strip()
    try:
        share = Fraction(text[:-1]) / 100 if text.endswith("%") else Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f'"{text}" is not a share such as "1/2", "0.5" or "50%"') from None
    if not 0 < share <= 1:
        raise ValueError(f'a share must be greater than 0 and at most 1, not "{text}"')
    return str(share)


Share = Annotated[
    str | int | Fraction,
    AfterValidator(_share),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number"}], "examples": ["1/2", "50%", 1]}),
]


class QueueOverride(Declaration):
    """Values of a queue that differ in one environment, or on some of its clusters."""

    queue: QueueRef = Field(description="Queue, or its id.")
    clusters: tuple[Identifier, ...] | None = Field(
        default=None,
        min_length=1,
        description="Clusters in the environment that the override applies to. If unset, all.",
    )
    guaranteed: Resources | None = Field(default=None, description="Guarantee in this environment.")
    limit: Resources | None = Field(default=None, description="Limit in this environment.")
    lending_limit: Resources | None = Field(default=None, description="Lending limit in this environment.")
    over_quota_weight: OverQuotaWeight | None = Field(default=None, description="Weight in this environment.")
    priority: int | None = Field(default=None, ge=0, le=2**31 - 1, description="Priority in this environment.")
    preempt_min_runtime: Duration | None = Field(
        default=None, description="Minimum time that a workload runs before it may be preempted."
    )
    reclaim_min_runtime: Duration | None = Field(
        default=None, description="Minimum time that a workload runs before its resources may be reclaimed."
    )
    replace: tuple[AmountField, ...] = Field(default=(), description=REPLACE)

    @model_validator(mode="after")
    def _replaces_what_it_sets(self) -> QueueOverride:
        check_replaced(self)
        return self


class Cluster(Declaration):
    """One Kubernetes cluster: its engine, its machines and its share of each guarantee and limit."""

    name: Identifier = Field(description="Name of the cluster, unique in the environment.")
    engine: Engine = Field(description="The scheduler installed on the cluster.")
    engine_version: str = Field(min_length=1, description='Version of the scheduler, such as "0.17.0".')
    kubernetes_version: str = Field(
        default="1.34", pattern=r"^1\.\d+(\.\d+)?$", description="Version of the API server, such as 1.34."
    )
    pools: tuple[PoolRef, ...] = Field(default=(), description="Node pools in this cluster.")
    share: Share = Field(
        default="1",
        description="Share of each guarantee and limit that applies on this cluster; guarantees are rounded down to whole units, and limits are rounded up.",
    )
    placement: Placement = Field(
        default=Placement(), description="Whether to bin-pack or spread workloads; a pool can override this."
    )
    topologies: tuple[Topology, ...] = Field(
        default=(), description="Network topologies; their levels are node labels."
    )
    managed_elsewhere: tuple[ObjectFamily, ...] = Field(
        default=(),
        description="Kinds of objects that are managed outside of Apportion on this cluster; Apportion does not emit, own or delete them.",
    )
    kai: KaiSettings = Field(default=KaiSettings(), description="Settings for KAI Scheduler.")
    kueue: KueueSettings = Field(default=KueueSettings(), description="Settings for Kueue.")
    volcano: VolcanoSettings = Field(default=VolcanoSettings(), description="Settings for Volcano.")
    ack: AckSettings = Field(default=AckSettings(), description="Settings for kube-queue on ACK.")

    @property
    def identity(self) -> str:
        """The name."""
        return self.name


class Admission(str, Enum):
    """Mode of the admission policies for forbidden workloads."""

    DENY = "deny"
    WARN = "warn"
    AUDIT = "audit"


class Environment(Declaration):
    """A stage such as dev, staging or prod, with its clusters and overrides."""

    name: Identifier = Field(description="Name of the stage, such as dev, staging or prod.")
    clusters: tuple[Cluster, ...] = Field(min_length=1, description="Clusters in this environment; at least one.")
    overrides: tuple[QueueOverride, ...] = Field(
        default=(), description="Queue values that differ in this environment."
    )
    admission: Admission = Field(
        default=Admission.DENY,
        description="deny rejects forbidden workloads; warn and audit only report them.",
    )

    @property
    def identity(self) -> str:
        """The name."""
        return self.name
