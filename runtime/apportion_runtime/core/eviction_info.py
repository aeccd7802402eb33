"""The pods of a job that are evicted first.

Source: pkg/scheduler/api/podgroup_info/eviction_info.go.
"""

from __future__ import annotations

from operator import attrgetter

from apportion_runtime.core.job import Job
from apportion_runtime.core.status import ACTIVE_ALLOCATED_STATUSES
from apportion_runtime.core.sub_groups import PodSet, SubGroupSet, order_members
from apportion_runtime.core.task import Task

_TASK_ORDER = attrgetter("order")


def tasks_to_evict(job: Job) -> tuple[list[Task], bool]:
    """Return the pods of a job to evict first, and whether others stay.

    One pod or one sub-group if there are more than the minimum, otherwise all.
    """
    tasks = _surplus(job.root) or [task for pod_set in job.root.pod_sets() for task in _evictable(pod_set)]
    return tasks, len(tasks) < job.n_counted


def _surplus(group: SubGroupSet) -> list[Task]:
    satisfied = group.n_members
    if satisfied == 0:
        return []
    members = order_members(group.members())[::-1]
    if _has_surplus(group):
        for member in members:
            found = _surplus(member) if isinstance(member, SubGroupSet) else _surplus_of_set(member)
            if found:
                return found
    if group.threshold < satisfied:
        for member in members:
            found = [task for pod_set in member.pod_sets() for task in _evictable(pod_set)]
            if found:
                return found
    return []


def _surplus_of_set(pod_set: PodSet) -> list[Task]:
    return _evictable(pod_set)[:1] if pod_set.n_allocated > pod_set.min_available else []


def _has_surplus(group: SubGroupSet) -> bool:
    return (
        group.n_members > group.threshold
        or any(pod_set.n_allocated > pod_set.min_available for pod_set in group.sets)
        or any(_has_surplus(child) for child in group.groups)
    )


def _evictable(pod_set: PodSet) -> list[Task]:
    """Return the pods that hold resources, the last in order first."""
    held = [task for task in pod_set.tasks.values() if task.status & ACTIVE_ALLOCATED_STATUSES]
    return sorted(held, key=_TASK_ORDER, reverse=True)
