"""Queues and their overrides, limits and settings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from pydantic import Field, model_validator

from apportion_policy.declaration import Declaration
from apportion_policy.duration import Duration
from apportion_policy.engine_settings import AckQueue
from apportion_policy.identifiers import EnvironmentRef, Identifier, Owner, PoolRef, PriorityClassRef, QueueRef
from apportion_policy.kueue_objects import KueueQueue
from apportion_policy.limit_range import LimitRange
from apportion_policy.resources import REPLACE, AmountField, OverQuotaWeight, Resources, check_replaced


class Override(Declaration):
    """Temporary values of a queue from `begin` to `end`, both inclusive; afterwards, the base values apply again."""

    begin: date = Field(description="First day on which the override applies.")
    end: date = Field(description="Last day on which the override applies.")
    reason: str = Field(min_length=1, description="Reason, for the reviewer.")
    owner: Owner
    environments: tuple[EnvironmentRef, ...] | None = Field(
        default=None, description="Environments that the override applies to. If unset, all."
    )
    guaranteed: Resources | None = Field(default=None, description="Guarantee from `begin` to `end`.")
    limit: Resources | None = Field(default=None, description="Limit from `begin` to `end`.")
    lending_limit: Resources | None = Field(default=None, description="Lending limit from `begin` to `end`.")
    over_quota_weight: OverQuotaWeight | None = Field(default=None, description="Weight from `begin` to `end`.")
    priority: int | None = Field(default=None, ge=0, le=2**31 - 1, description="Priority from `begin` to `end`.")
    replace: tuple[AmountField, ...] = Field(default=(), description=REPLACE)

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> Override:
        if self.end < self.begin:
            raise ValueError(f"the override ends on {self.end}, before it begins on {self.begin}")
        check_replaced(self)
        return self


class UserLimit(Declaration):
    """A per-user limit of a queue, for engines that support it."""

    user: Identifier = Field(description='A user name, or "*" for all other users.')
    limit: Resources = Field(description="Maximum amounts for a single user's workloads.")
    max_jobs: int | None = Field(default=None, ge=0, description="Maximum number of running jobs for a single user.")


class Queue(Declaration):
    """A share of the clusters, with a permanent id.

    `id` names every emitted object and label, so a queue that is renamed (`title`) or moved (`parent`) keeps its
    running workloads if the engine allows it. Set the parent in one of three ways: `parent` as a reference, `parent` as
    an id, or nesting in the parent's `children`.
    """

    id: Identifier = Field(description="Permanent identity, unique in the policy.")
    title: str | None = Field(default=None, description="Display name; can be changed at any time.")
    parent: QueueRef | None = Field(default=None, description="Parent queue, or its id.")
    children: tuple[Queue, ...] = Field(default=(), description="Queues nested below this one.")
    owner: Owner | None = Field(default=None, description="Owner; inherited from the nearest ancestor.")
    namespaces: tuple[Identifier, ...] = Field(
        default=(), description="Namespaces whose workloads run in this queue; only leaf queues have any."
    )
    external_namespaces: tuple[Identifier, ...] = Field(
        default=(),
        description="The queue's namespaces that are managed elsewhere: no Namespace object is emitted for them.",
    )
    default: bool = Field(
        default=False,
        description="Whether this queue runs the workloads in its namespaces that do not specify a queue.",
    )
    users: tuple[UserLimit, ...] = Field(default=(), description="Per-user limits.")
    guaranteed: Resources | None = Field(
        default=None, description="Guaranteed amounts. If unset, 0 for a leaf, otherwise the sum of its children's."
    )
    limit: Resources | None = Field(default=None, description="Maximum amounts. If unset, the parent's limit.")
    lending_limit: Resources | None = Field(
        default=None, description="How much of its idle guarantee other queues may use. If unset, all of it."
    )
    over_quota_weight: OverQuotaWeight | None = Field(
        default=None,
        description="Weight for dividing surplus resources among siblings. If unset, 1; if 0, the queue gets no surplus.",
    )
    priority: int | None = Field(
        default=None,
        ge=0,
        le=2**31 - 1,
        description="Queues with a higher value receive surplus first and lose it last. If unset, 100.",
    )
    preempt_min_runtime: Duration | None = Field(
        default=None,
        description="Minimum time that its workloads run before a workload in the same queue may preempt them.",
    )
    reclaim_min_runtime: Duration | None = Field(
        default=None,
        description="Minimum time that its workloads run before another queue may reclaim their resources.",
    )
    gpu_sharing: bool | None = Field(default=None, description="Whether workloads may request fractions of a GPU.")
    pools: tuple[PoolRef, ...] | None = Field(
        default=None,
        description="Node pools that the queue may use; inherited. If unset on the queue and its ancestors, all of a cluster's pools.",
    )
    priority_classes: tuple[PriorityClassRef, ...] | None = Field(
        default=None,
        description="Priority classes that its workloads may use; inherited. If unset on the queue and its ancestors, all classes.",
    )
    overrides: tuple[Override, ...] = Field(default=(), description="Time-boxed changes.")
    labels: Mapping[str, str] = Field(default_factory=dict, description="Additional labels for its emitted objects.")
    limit_ranges: tuple[LimitRange, ...] = Field(
        default=(),
        description="Container limits and defaults in its namespaces; inherited by child queues. On a cluster without an engine, "
        "they replace the defaults that Apportion writes.",
    )
    kueue: KueueQueue | None = Field(default=None, description="Names and settings of its Kueue objects.")
    ack: AckQueue | None = Field(default=None, description="The queue's settings for kube-queue on ACK.")

    @model_validator(mode="after")
    def _names_each_limit_range_once(self) -> Queue:
        names = [each.name for each in self.limit_ranges]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"`limit_ranges` has two objects named {twice}: give each a unique name")
        return self

    @property
    def identity(self) -> str:
        """The permanent id."""
        return self.id
