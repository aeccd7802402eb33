"""Engine-specific settings of clusters and queues. Unset fields use the engine's default unless documented otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from apportion_policy.declaration import Declaration
from apportion_policy.duration import Duration
from apportion_policy.kueue_objects import KueueObject, QueueingStrategy
from apportion_policy.resources import WeightValue

KaiAction = Literal["allocate", "consolidation", "reclaim", "preempt"]
QueueDepth = Annotated[int, Field(ge=1)]


class LiveScheduler(Declaration):
    """Apportion's own scheduler, `apportion scheduler`, in place of KAI's."""

    reservation_image: str | None = Field(
        default=None,
        min_length=1,
        description="KAI's `resourcereservation` image, which reserves shared GPUs. If unset, pods that share a GPU stay pending.",
    )


class KaiSettings(Declaration):
    """Settings for KAI Scheduler."""

    k_value: WeightValue | None = Field(
        default=None,
        description="How strongly past usage reduces a queue's share of surplus resources (KAI's default: 1.0).",
    )
    preempt_min_runtime: Duration | None = Field(
        default=None, description="Default minimum runtime before preemption, for all queues."
    )
    reclaim_min_runtime: Duration | None = Field(
        default=None, description="Default minimum runtime before reclaim, for all queues."
    )
    queue_depth_per_action: Mapping[KaiAction, QueueDepth] = Field(
        default={},
        description="Maximum number of jobs to try per queue, by action: allocate, consolidation, reclaim, preempt.",
    )
    max_consolidation_preemptees: int | None = Field(
        default=None,
        ge=0,
        le=2**31 - 1,
        description="Maximum number of jobs that consolidation may move to make room for another job (KAI's default: 16); 0: none.",
    )
    gpu_sharing: bool | None = Field(
        default=None,
        description="Value of global.gpuSharing in the chart. If unset, it is true if any queue uses GPU sharing.",
    )
    emit_installed_priority_classes: bool = Field(
        default=False,
        description="Also emit the priority classes that KAI's chart installs: train, build-preemptible, build and inference.",
    )
    full_hierarchy_fairness: bool = Field(
        default=True,
        description="Whether KAI divides resources fairly at every level of the tree; if false, it ignores inner queues.",
    )
    scheduler_name: str = Field(default="kai-scheduler", description="schedulerName of the pods that KAI schedules.")
    live_scheduler: LiveScheduler | None = Field(
        default=None, description="Set if `apportion scheduler` runs on the cluster instead of KAI's scheduler."
    )


class KueueSettings(Declaration):
    """Settings of Kueue that have no equivalent elsewhere in the policy."""

    queueing_strategy: QueueingStrategy = Field(
        default="BestEffortFIFO", description="Whether a workload that does not fit blocks the workloads behind it."
    )
    wait_for_pods_ready: Duration | None = Field(
        default=None,
        description="How long the pods of an admitted workload may take to become ready before the workload is requeued.",
    )
    root_cohort: bool = Field(
        default=True, description="Add a Cohort above all top-level queues so that they can lend to each other."
    )
    objects: tuple[KueueObject, ...] = Field(
        default=(), description="Existing objects on the cluster; they replace the generated objects of the same kind."
    )


class VolcanoSettings(Declaration):
    """Settings for Volcano."""

    dequeue_strategy: Literal["fifo", "traverse"] = Field(
        default="traverse", description="Whether a job that does not fit blocks the jobs behind it."
    )


QueuePolicy = Literal["Round", "Block", "Priority"]


class AckSettings(Declaration):
    """Settings of Alibaba Cloud's kube-queue."""

    queue_policy: QueuePolicy | None = Field(
        default=None,
        description="Policy for queues that do not set their own. If unset, kube-queue's default of Round applies, and no Queue objects are emitted.",
    )


class AckQueue(Declaration):
    """Settings of a queue that apply only to Alibaba Cloud's kube-queue."""

    queue_policy: QueuePolicy | None = Field(
        default=None,
        description="How the queue's jobs are dequeued; inherited. If unset, the cluster's `ack` setting applies.",
    )
