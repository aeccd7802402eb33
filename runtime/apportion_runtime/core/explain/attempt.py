"""Retry the placement of a job in a finished session, and roll everything back."""

from __future__ import annotations

from dataclasses import dataclass

from apportion_runtime.core.allocation import place_job
from apportion_runtime.core.explain.fit_errors import JobFitError
from apportion_runtime.core.explain.histogram import NodeHistogram, histogram
from apportion_runtime.core.job import Job
from apportion_runtime.core.nodes import Indices
from apportion_runtime.core.session import Session
from apportion_runtime.core.task import Task


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A pod that fits on no node, after `n_placed` other pods of its sub-group were placed."""

    task: Task
    n_placed: int
    nodes: NodeHistogram


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result: whether the job's next step was placed, the engine's fit errors, and the unplaced pods."""

    succeeded: bool
    errors: tuple[JobFitError, ...]
    unplaced: tuple[Unplaced, ...]


def attempt(session: Session, job: Job, *, bounded: bool = True) -> Attempt:
    """Place the next step of a job as the allocate action would, and roll it back.

    Args:
        session: A session whose actions have run; it is restored.
        job: The job.
        bounded: Whether limits and quotas of queues are enforced.
    """
    unplaced: list[Unplaced] = []

    def note(task: Task, placed: int, nodes: Indices) -> None:
        unplaced.append(Unplaced(task, placed, histogram(session, task, nodes)))

    fit_errors, task_errors, keeps_shares = job.fit_errors, job.task_errors, session.keeps_shares
    # A rollback does not reset the node and devices recorded in a pod.
    held = [(task, task.node, task.gpu_groups, task.numa) for task in job.tasks.values()]
    n_groups = session.n_groups
    # A rollback restores sums of fractions only approximately.
    leaf = session.shares.queues.get(job.queue)
    sums = [(q, list(q.allocated), list(q.allocated_np)) for q in (leaf.path if leaf is not None else ())]
    job.fit_errors, job.task_errors = [], dict(task_errors)
    session.reasons.on_unplaced = note
    session.keeps_shares = keeps_shares and bounded
    statement = session.statement()
    try:
        succeeded = place_job(session, statement, session.nodes.all, job, pipeline_only=False)
        return Attempt(succeeded, tuple(job.fit_errors), tuple(unplaced))
    finally:
        statement.discard()
        session.n_groups = n_groups
        for queue, allocated, allocated_np in sums:
            queue.allocated[:], queue.allocated_np[:] = allocated, allocated_np
        for task, node, groups, numa in held:
            task.node, task.gpu_groups, task.numa = node, groups, numa
        session.keeps_shares = keeps_shares
        session.reasons.on_unplaced = None
        job.fit_errors, job.task_errors = fit_errors, task_errors
