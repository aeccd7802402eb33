"""Environments and their clusters: where the policy is in force, by which engine, with which machines."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from apportion_policy.declaration import Declaration
from apportion_policy.duration import Duration
from apportion_policy.engine_settings import AckSettings, KaiSettings, KueueSettings, VolcanoSettings
from apportion_policy.identifiers import Identifier, PoolRef, QueueRef
from apportion_policy.placement import Placement, Topology
from apportion_policy.resources import OverQuotaWeight, Resources


class Engine(str, Enum):
    """Who decides on a cluster which workload runs."""

    KAI = "kai"
    KUEUE = "kueue"
    VOLCANO = "volcano"
    KOORDINATOR = "koordinator"
    ACK = "ack"
    YUNIKORN = "yunikorn"
    NATIVE = "native"


def _share(value: str | int | Fraction) -> str:
    text = str(value).strip()
    try:
        share = Fraction(text[:-1]) / 100 if text.endswith("%") else Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f'"{text}" is not a share such as "1/2", "0.5" or "50%"') from None
    if not 0 < share <= 1:
        raise ValueError(f'a share lies above 0 and at most at 1; "{text}" does not')
    return str(share)


Share = Annotated[
    str | int | Fraction,
    AfterValidator(_share),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number"}], "examples": ["1/2", "50%", 1]}),
]


class QueueOverride(Declaration):
    """Other values for a queue in one environment."""

    queue: QueueRef
    guaranteed: Resources | None = None
    limit: Resources | None = None
    lending_limit: Resources | None = None
    over_quota_weight: OverQuotaWeight | None = None
    priority: int | None = Field(default=None, ge=0, le=2**31 - 1)
    preempt_min_runtime: Duration | None = None
    reclaim_min_runtime: Duration | None = None


class Cluster(Declaration):
    """One Kubernetes cluster: its engine, its machines and its share of each guarantee and limit."""

    name: Identifier
    engine: Engine
    engine_version: str = Field(min_length=1, description='The version installed, such as "0.17.0".')
    kubernetes_version: str = Field(default="1.34", pattern=r"^1\.\d+(\.\d+)?$")
    pools: tuple[PoolRef, ...] = Field(default=(), description="Node pools of this cluster.")
    share: Share = Field(
        default="1", description="Part of each guarantee and limit that holds here; amounts round down to whole units."
    )
    placement: Placement = Field(default=Placement(), description="Bin-pack or spread where a pool does not say.")
    topologies: tuple[Topology, ...] = ()
    kai: KaiSettings = Field(default=KaiSettings())
    kueue: KueueSettings = Field(default=KueueSettings())
    volcano: VolcanoSettings = Field(default=VolcanoSettings())
    ack: AckSettings = Field(default=AckSettings())

    @property
    def identity(self) -> str:
        """The name."""
        return self.name


class Environment(Declaration):
    """A stage such as dev, staging or prod: its clusters and what differs there."""

    name: Identifier
    clusters: tuple[Cluster, ...] = Field(min_length=1)
    overrides: tuple[QueueOverride, ...] = ()

    @property
    def identity(self) -> str:
        """The name."""
        return self.name
