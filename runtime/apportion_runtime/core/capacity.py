"""The two bounds that hold whenever a pod is placed: no queue above its limit, non-preemptible work within quotas.

Source: pkg/scheduler/plugins/proportion/capacity_policy/.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from apportion_runtime.core.job import Job
from apportion_runtime.core.resources import GPU, UNLIMITED, Quantities
from apportion_runtime.core.shares import RESOURCES, Shares
from apportion_runtime.core.task import BY_MEMORY, Task

OVER_LIMIT = "OverLimit"
NON_PREEMPTIBLE_OVER_QUOTA = "NonPreemptibleOverQuota"


class OverCapacity(NamedTuple):
    """The bound that a request would exceed: its queue, the resource, the bound, the usage and the request."""

    reason: str
    queue: str
    resource: str
    bound: float
    used: float
    asked: float


def over_limit(shares: Shares, job: Job, request: Quantities) -> OverCapacity | None:
    """Return the first queue, from the job's queue to the root, whose limit a request would exceed."""
    leaf = shares.queues.get(job.queue)
    for queue in leaf.path if leaf is not None else ():
        for r, asked in enumerate(request):
            limit = queue.limit[r]
            if limit != UNLIMITED and asked != 0 and limit < queue.allocated[r] + asked:
                return OverCapacity(OVER_LIMIT, queue.name, RESOURCES[r], limit, queue.allocated[r], asked)
    return None


def over_quota(shares: Shares, job: Job, request: Quantities) -> OverCapacity | None:
    """Return the first queue, from the job's queue to the root, whose quota a non-preemptible job would exceed."""
    leaf = shares.queues.get(job.queue)
    if job.preemptible or leaf is None:
        return None
    for queue in leaf.path:
        for r, asked in enumerate(request):
            quota = queue.deserved[r]
            if quota != UNLIMITED and asked != 0 and quota < queue.allocated_np[r] + asked:
                return OverCapacity(
                    NON_PREEMPTIBLE_OVER_QUOTA, queue.name, RESOURCES[r], quota, queue.allocated_np[r], asked
                )
    return None


def over_capacity(shares: Shares, job: Job, request: Quantities) -> OverCapacity | None:
    """Return the first bound that a request would exceed."""
    if not shares.is_bounded(job):
        return None
    return over_limit(shares, job, request) or over_quota(shares, job, request)


def requested(tasks: Iterable[Task], device_memory: int | None) -> Quantities:
    """Return the minimum request of pods: GPU memory counts in devices of the largest memory in the cluster."""
    total = [0.0, 0.0, 0.0]
    for task in tasks:
        cpu, memory, gpu = task.quantities
        total[0] += cpu
        total[1] += memory
        total[GPU] += task.gpu.memory_as_gpus(device_memory) if task.kind == BY_MEMORY else gpu
    return total[0], total[1], total[2]
