"""Allocate the next step of a job: part by part, each pod on the best node that fits, all or none.

Source: pkg/scheduler/actions/common/allocate.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from apportion_runtime.core.alike_tasks import place_alike
from apportion_runtime.core.capacity import over_capacity, requested
from apportion_runtime.core.job import Job
from apportion_runtime.core.node_fit import fits, fits_idle
from apportion_runtime.core.node_ranking import best_of
from apportion_runtime.core.nodes import Indices
from apportion_runtime.core.plugins.gpu_choice import choose_devices
from apportion_runtime.core.plugins.node_scores import free_of, node_scores
from apportion_runtime.core.plugins.pod_affinity import preference_scores
from apportion_runtime.core.sub_groups import PodSet, SubGroupSet, order_members
from apportion_runtime.core.task import Task

if TYPE_CHECKING:
    from apportion_runtime.core.session import Session
    from apportion_runtime.core.statement import Statement


def place_job(session: Session, statement: Statement, nodes: Indices, job: Job, *, pipeline_only: bool) -> bool:
    """Place the next step of a job on some nodes.

    Args:
        session: The session.
        statement: Collects the operations; the caller discards them if this fails.
        nodes: Nodes that are considered.
        job: The job.
        pipeline_only: Pipeline all pods, as in simulations of evictions.
    """
    session.topologies.forget_scores()
    tasks = job.tasks_to_allocate(real=not pipeline_only)
    if not tasks:
        return False
    if session.keeps_shares and session.shares.is_bounded(job):
        request = requested(tasks, session.max_device_memory)
        over = over_capacity(session.shares, job, request)
        if over is not None:
            if not pipeline_only:
                session.reasons.over_capacity(job, over)
            return False
    step = _Step(session, statement, job, pipeline_only)
    if not job.is_flat:
        return _place_group(step, nodes, job.root, tasks)
    mark = statement.checkpoint()
    if _place_tasks(step, nodes, tasks):
        return True
    statement.rollback(mark)
    return False


class _Step(NamedTuple):
    """The arguments shared by the parts of a step."""

    session: Session
    statement: Statement
    job: Job
    pipeline_only: bool


def _place_group(step: _Step, nodes: Indices, group: SubGroupSet, tasks: list[Task]) -> bool:
    if not tasks:
        return True
    here = {pod_set.name: pod_set for pod_set in group.pod_sets()}
    with_tasks = {task.pod_set: here[task.pod_set] for task in tasks if task.pod_set in here}
    record = not step.pipeline_only
    for subset in step.session.node_sets(step.job, group, with_tasks, tasks, nodes, record=record):
        mark = step.statement.checkpoint()
        if _place_members(step, subset, group, tasks):
            return True
        step.statement.rollback(mark)
    return False


def _place_members(step: _Step, nodes: Indices, group: SubGroupSet, tasks: list[Task]) -> bool:
    for member in order_members(group.members()):
        if isinstance(member, PodSet):
            own = tasks if len(step.job.pod_sets) == 1 else [task for task in tasks if task.pod_set == member.name]
            placed = _place_pod_set(step, nodes, member, own)
        else:
            names = {pod_set.name for pod_set in member.pod_sets()}
            placed = _place_group(step, nodes, member, [task for task in tasks if task.pod_set in names])
        if not placed:
            return False
    return True


def _place_pod_set(step: _Step, nodes: Indices, pod_set: PodSet, tasks: list[Task]) -> bool:
    if not tasks:
        return True
    record = not step.pipeline_only
    for subset in step.session.node_sets(step.job, pod_set, {pod_set.name: pod_set}, tasks, nodes, record=record):
        mark = step.statement.checkpoint()
        if _place_tasks(step, subset, tasks):
            return True
        step.statement.rollback(mark)
    return False


def _place_tasks(step: _Step, nodes: Indices, tasks: list[Task]) -> bool:
    session = step.session
    n_placed = 0 if step.pipeline_only else place_alike(session, step.statement, nodes, tasks)
    for number, task in enumerate(tasks[n_placed:], n_placed):
        if not place_task(session, step.statement, nodes, task, pipeline_only=step.pipeline_only):
            if not step.pipeline_only:
                session.reasons.unplaced(step.job, task, number, nodes)
            return False
    return True


def place_task(session: Session, statement: Statement, nodes: Indices, task: Task, *, pipeline_only: bool) -> bool:
    """Place one pod on the best of some nodes on which it fits."""
    # The session's own job: the job being placed may be a view of it.
    job = session.jobs[task.job]
    predicates, table = session.predicates, session.nodes
    if predicates.blocked(task) is not None:
        return False
    ranking = session.rankings.for_task(task)
    if ranking is not None:
        best = best_of(ranking, nodes, table.all)
        if best is None:
            return False
        i, at_once = best
        if not task.shares_gpu:
            if predicates.over_capacity(task, job, i) is not None:
                return False
            _place_on(statement, task, i, at_once=at_once, pipeline_only=pipeline_only)
            return True
        if (
            predicates.over_capacity(task, job, i) is None
            and predicates.allows(task, i, None)
            and _place_with_devices(session, statement, task, i, pipeline_only=pipeline_only)
        ):
            return True
        # Device memory and free devices differ between nodes: the pod may fit another.
    # Called even if no node is free: the first call decides whether a pod skips the affinity predicate.
    state = predicates.prepare(task)
    preferred = predicates.preferences.scores(task.pod, table)
    fitting = fits(table, task, free_of(table, nodes), nodes)
    fitting &= table.rows(predicates.mask(task), nodes)
    if not fitting.any():
        return False
    score = node_scores(task, table, nodes, session.settings)
    if preferred:
        score += preference_scores(preferred, table, nodes)
    score = session.topologies.add_scores(score, task, job, nodes)
    score = session.numa.add_scores(score, task, nodes)
    score[~fitting] = -np.inf
    while True:
        # The first of the highest scores: nodes are in order of name.
        row = int(score.argmax())
        if score[row] == -np.inf:
            return False
        i = int(nodes[row])
        if (
            predicates.over_capacity(task, job, i) is None
            and predicates.allows(task, i, state)
            and session.numa.allows(task, i)
            and _place_with_devices(session, statement, task, i, pipeline_only=pipeline_only)
        ):
            return True
        score[row] = -np.inf


def _place_with_devices(session: Session, statement: Statement, task: Task, i: int, *, pipeline_only: bool) -> bool:
    task.numa = session.numa.placement(task, i)
    if task.shares_gpu:
        devices = choose_devices(session, task, i, pipeline_only=pipeline_only)
        if devices is None:
            return False
        session.n_groups += sum(group.startswith("new-") and not _known(session, i, group) for group in devices.groups)
        task.gpu_groups = devices.groups
        if pipeline_only or devices.is_releasing:
            statement.pipeline(task, i, update_if_there=False)
        else:
            statement.allocate(task, i)
        return True
    at_once = fits_idle(session.nodes, task, i)
    _place_on(statement, task, i, at_once=at_once, pipeline_only=pipeline_only)
    return True


def _place_on(statement: Statement, task: Task, i: int, *, at_once: bool, pipeline_only: bool) -> None:
    if at_once and not pipeline_only:
        statement.allocate(task, i)
    else:
        statement.pipeline(task, i, update_if_there=not pipeline_only)


def _known(session: Session, i: int, group: str) -> bool:
    shared = session.nodes.shared.get(i)
    return shared is not None and group in shared.used
