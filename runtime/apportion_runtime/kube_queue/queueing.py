"""The implementation that dequeues jobs: ACK's, as documented, or one of the public projects, where they differ.

Each field of `QueueRules` is one difference, which tests switch alone.

Source: koord-queue at 29043000, pkg/framework/plugins/elasticquota (elastic_quota_tree.go,
elasticquotatree/elasticquota.go), pkg/queue/queuepolicies/schedulingqueuev2/schedulingqueuev2.go and
pkg/scheduler/scheduler.go; kube-queue at b9bbeb9, pkg/queue and pkg/scheduler.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum


class Queueing(StrEnum):
    """The implementation that dequeues jobs."""

    ACK = "ack"
    KOORD_QUEUE = "koord-queue"
    KUBE_QUEUE = "kube-queue"


class SumUpdate(Enum):
    """When the sum of usage that other quotas are compared with includes a change of a quota.

    Attributes:
        AT_ONCE: With the change.
        AT_NEXT_CHANGE: With the next change of the quota (`reserveResource` updates the sum before the usage).
        AFTER_DEQUEUE: A dequeued job at once, since the event of its QueueUnit's update repeats the change with an amount
            of 0 (`AddAssignedJob`); a released job with the next change of the quota. The event comes after the response
            to the update, as from an API server.
    """

    AT_ONCE = "at once"
    AT_NEXT_CHANGE = "at next change"
    AFTER_DEQUEUE = "after dequeue"


@dataclass(frozen=True, slots=True)
class QueueRules:
    """The points in which the implementations differ.

    Attributes:
        reclaims: A preemptible job within the `min` of its quota is dequeued although ancestors are full.
        sum_update: When a change of usage counts towards the `max` of ancestors of other quotas.
        lends_min_at_most: A lend limit above `min` lends the `min`; otherwise, the excess lowers the usage of ancestors
            until the resource is used.
        has_loops: Each queue has a loop of its own, with timers (`queue_loop`); otherwise, queues take turns.
        counts_empty_jobs: A job that requests nothing counts towards the number of jobs; otherwise, only its end does. In
            koord-queue, the event of its QueueUnit's update counts it.
    """

    reclaims: bool = True
    sum_update: SumUpdate = SumUpdate.AT_ONCE
    lends_min_at_most: bool = True
    has_loops: bool = False
    counts_empty_jobs: bool = True


RULES: Mapping[Queueing, QueueRules] = {
    Queueing.ACK: QueueRules(),
    Queueing.KOORD_QUEUE: QueueRules(
        reclaims=False,
        sum_update=SumUpdate.AFTER_DEQUEUE,
        lends_min_at_most=False,
        has_loops=True,
    ),
    Queueing.KUBE_QUEUE: QueueRules(
        reclaims=False, sum_update=SumUpdate.AT_NEXT_CHANGE, lends_min_at_most=False, counts_empty_jobs=False
    ),
}
