"""The engine's message about an eviction, as in its events.

Source: pkg/scheduler/actions/utils/action.go (GetMessageOfEviction), api/unschedule_info.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apportion_runtime.core.explain.amounts import GIGABYTE, MILLICORES, amount
from apportion_runtime.core.job import Job
from apportion_runtime.core.queue_share import QueueShare
from apportion_runtime.core.resources import CPU, GPU, MEMORY, whole_or_fraction
from apportion_runtime.core.session import Session
from apportion_runtime.core.statement import EvictionSet
from apportion_runtime.core.sub_groups import DEFAULT_POD_SET
from apportion_runtime.core.task import Task


def eviction_message(session: Session, action: str, task: Task, by: Job | None, taking: EvictionSet | None) -> str:
    """Return the engine's message for a victim; amounts are those before the evictions."""
    pod, job = f"{task.pod.namespace}/{task.pod.name}", session.jobs[task.job]
    if by is None or taking is None:
        return _of_stale_gang(pod, task, job)
    if action == "preempt":
        return f"Pod {pod} was preempted by higher priority workload {by.group.namespace}/{by.name}"
    if action == "consolidation":
        return f"Pod {pod} was preempted and rescheduled due to bin packing (resource consolidation) procedure"
    message = f"Pod {pod} was preempted by workload {by.group.namespace}/{by.name}."
    ours, theirs = session.shares.queues.get(by.queue), session.shares.queues.get(job.queue)
    if ours is None or theirs is None:
        return message
    if ours.parent != theirs.parent:
        # The engine looks one level up on each side, regardless of where the two meet.
        ours, theirs = ours.path[min(1, len(ours.path) - 1)], theirs.path[min(1, len(theirs.path) - 1)]
    return "\n".join((message, _of_queue(theirs, taking), _of_queue(ours, taking)))


def _of_queue(queue: QueueShare, taking: EvictionSet) -> str:
    used = taking.before.get(queue.name, queue.allocated)
    return (
        f"{queue.name} uses <{_amounts(used)}> with a quota of <{_amounts(queue.deserved)}>, "
        f"fair-share of <{_amounts(queue.fair)}> and queue priority of <{queue.priority}>."
    )


def _amounts(numbers: Sequence[float]) -> str:
    # The engine reads the sum of GPUs as one pod's request: it is truncated to whole devices, and unlimited becomes 0.
    gpus = whole_or_fraction(numbers[GPU]).gpus
    return (
        f"GPU: {amount(gpus)}, CPU: {amount(numbers[CPU], MILLICORES)} (cores), "
        f"memory: {amount(numbers[MEMORY], GIGABYTE)} (GB)"
    )


def _of_stale_gang(pod: str, task: Task, job: Job) -> str:
    pod_set = job.pod_sets[task.pod_set]
    part = "" if len(job.pod_sets) == 1 and pod_set.name == DEFAULT_POD_SET else f" in sub-group {pod_set.name}"
    return (
        f"Workload doesn't meet the minimum required number of pods ({pod_set.min_available}){part}, "
        f"evicting remaining pod: {pod}"
    )
