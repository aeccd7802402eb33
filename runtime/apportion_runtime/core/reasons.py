"""The fit errors that the engine records for jobs it does not place, recorded at the same moments.

Nothing is recorded for placed pods or in simulations: the engine writes those on copies, or on victims whose errors it
does not show. As in the engine, counts add up for a pod that fits on none of several node sets; nodes tried before a
successful placement are not counted.

Source: pkg/scheduler/actions/common/allocate.go, action_eligibility.go, actions/utils/input_jobs.go,
cache/cluster_info/cluster_info.go.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from apportion_runtime.core.capacity import OverCapacity
from apportion_runtime.core.explain.amount_messages import over_capacity_message
from apportion_runtime.core.explain.fit_errors import (
    DEFAULT_POD_ERROR,
    DEFAULT_SUB_GROUP,
    POD_SCHEDULING_ERRORS,
    PREEMPTION_DELAY_NOT_ELAPSED,
    QUEUE_DOES_NOT_EXIST,
    TaskFitErrors,
    add,
    simple,
)
from apportion_runtime.core.explain.node_reasons import NodeReasons

if TYPE_CHECKING:
    from collections.abc import Callable

    from apportion_runtime.core.job import Job
    from apportion_runtime.core.nodes import Indices, Mask
    from apportion_runtime.core.session import Session
    from apportion_runtime.core.task import Task


class Reasons:
    """Records in the jobs of one session why they are pending."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._nodes = NodeReasons(session)
        self.on_unplaced: Callable[[Task, int, Indices], None] | None = None
        """Called for each pod that fits on no node, before the pods placed ahead of it are undone."""
        self.masks: dict[object, Mask] = {}
        """Nodes that can never take a pod, by the pod's constraints; filled by `explain.histogram`."""
        self.report_filter: Callable[[Job], bool] | None = None
        """Selects the jobs whose reasons are recorded; None selects all.

        A job that it leaves out is checked again when it changes or after `SessionCache.mark_unreported`.
        """
        self.are_brief = False
        """Whether nothing at all is recorded for jobs that `report_filter` leaves out."""
        for job in session.jobs_without_queue():
            job.fit_errors.append(simple(QUEUE_DOES_NOT_EXIST, f"Queue '{job.queue}' does not exist"))

    def is_reported(self, job: Job) -> bool:
        """Return whether the reasons of a job are recorded."""
        return self.report_filter is None or self.report_filter(job)

    def over_capacity(self, job: Job, over: OverCapacity) -> None:
        """Record that a limit or quota of a queue keeps a job from starting."""
        if self.are_brief and not self.is_reported(job):
            return
        job.fit_errors.append(simple(over.reason, over_capacity_message(over)))

    def unplaced(self, job: Job, task: Task, placed: int, nodes: Indices) -> None:
        """Record that a pod of a job fits on no node, after `placed` others of its part were placed."""
        if self.on_unplaced is not None:
            self.on_unplaced(task, placed, nodes)
        if not self.is_reported(job):
            return
        blocked = self._session.predicates.blocked(task)
        counts = None if blocked is not None else self._nodes.count(task, nodes)
        if blocked is not None or counts is not None:
            add(job.task_errors, task.uid, TaskFitErrors(blocked or "", counts or {}))
        errors = job.task_errors.get(task.uid)
        why = DEFAULT_POD_ERROR if errors is None else errors.text
        job.fit_errors.append(simple(POD_SCHEDULING_ERRORS, _unplaced(job, task, placed, why)))

    def unresolvable(self, job: Job, task: Task, why: str) -> None:
        """Record that no eviction could help a pod of a job."""
        if self.are_brief and not self.is_reported(job):
            return
        add(job.task_errors, task.uid, TaskFitErrors(why))
        job.fit_errors.append(simple(POD_SCHEDULING_ERRORS, _not_found(task, why)))

    def delayed(self, job: Job) -> None:
        """Record that a job is within its preemption delay."""
        if self.are_brief and not self.is_reported(job):
            return
        if any(error.reason == PREEMPTION_DELAY_NOT_ELAPSED for error in job.fit_errors):
            return
        delay = job.group.preemption_delay or 0.0
        until = job.created if job.last_eviction is None else max(job.created, job.last_eviction)
        moment = datetime.fromtimestamp(until + delay, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        job.fit_errors.append(
            simple(
                PREEMPTION_DELAY_NOT_ELAPSED,
                f"Workload is within its preemption delay window ({duration(delay)}) and may not trigger evictions "
                f"before {moment}",
            )
        )


def _unplaced(job: Job, task: Task, placed: int, why: str) -> str:
    pod_set = job.pod_sets[task.pod_set]
    is_gang = any(each.min_available > 1 for each in job.pod_sets.values())
    if not is_gang or pod_set.n_used >= pod_set.min_available:
        return _not_found(task, why)
    if len(job.pod_sets) == 1 and pod_set.name == DEFAULT_SUB_GROUP:
        return (
            f"Resources were found for {placed} pods while {pod_set.min_available} are required for gang scheduling. "
            f"Additional pods cannot be scheduled due to: {why}"
        )
    return (
        f"Resources were found for {placed} pods from all sub-groups while sub-group {pod_set.name} requires "
        f"{pod_set.min_available} pods for gang scheduling. Additional pods cannot be scheduled in this sub-group due "
        f"to: {why}"
    )


def _not_found(task: Task, why: str) -> str:
    return f"Resources were not found for pod {task.pod.namespace}/{task.pod.name} due to: {why}"


def duration(seconds: float) -> str:
    """Return seconds in Go's duration format: 1h2m3.5s."""
    if seconds == 0:
        return "0s"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    if seconds < 1:
        return f"{seconds * 1000:g}ms"
    text = f"{rest:.9f}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text
