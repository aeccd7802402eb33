"""Volcano's actions that allocate: enqueue, allocate, backfill.

Source: pkg/scheduler/actions/enqueue, allocate, backfill.
"""

from __future__ import annotations

from bisect import insort

from apportion_runtime.engines.kube_scheduler.equivalence import alike_on_nodes
from apportion_runtime.engines.kube_scheduler.filter_status import FilterStatus
from apportion_runtime.engines.kube_scheduler.node_statuses import explained
from apportion_runtime.engines.kube_scheduler.nodes import NodeState
from apportion_runtime.engines.volcano.jobs import Job, Phase, Status, Task
from apportion_runtime.engines.volcano.node_ranking import fits_on, insufficient
from apportion_runtime.engines.volcano.session import Session
from apportion_runtime.engines.volcano.statement import Statement


def enqueue(session: Session) -> None:
    """Enqueue jobs whose minimum fits into their queues, one job per queue in turn."""
    capacity = session.capacity
    pending: dict[str, list[Job]] = {}
    # A job whose pods were all bound in the last cycle may be pending again, and then counts twice for its queue.
    for job in session.in_order(job for job in session.jobs.values() if job.group.phase is Phase.PENDING):
        if job.queue in capacity.queues:
            pending.setdefault(job.queue, []).append(job)
    queues = session.queues(session.jobs.values() if pending else ())
    while queues:
        queue = queues.pop()
        if not pending.get(queue):
            continue
        job = pending[queue].pop(0)
        queues.push(queue)
        least = job.group.least_resources
        why = "" if least is None else capacity.not_enqueued(queue, least)
        if why:
            job.group.why = why
            continue
        job.group.phase, job.group.why = Phase.INQUEUE, ""
        capacity.count(queue, requested={}, inqueue=least or {}, elastic={})


def allocate(session: Session) -> None:
    """Allocate jobs, one job per queue in turn: the gang minimum, or nothing."""
    if "enqueue" not in session.configuration.actions:
        for job in session.jobs.values():
            if job.group.phase is Phase.PENDING:
                job.group.phase = Phase.INQUEUE
    waiting: dict[str, list[Job]] = {}
    tasks: dict[str, list[Task]] = {}
    for job in session.wanting:
        if session.is_schedulable(job):
            found = [task for task in job.waiting() if not task.is_best_effort]
            if found:
                tasks[job.key] = found
                waiting.setdefault(job.queue, []).append(job)
    unschedulable: dict[object, str] = {}
    waiting = {queue: session.in_order(jobs) for queue, jobs in waiting.items()}
    queues = session.queues(job for jobs in waiting.values() for job in jobs)
    while queues:
        queue = queues.pop()
        if not waiting[queue]:
            continue
        job = waiting[queue].pop(0)
        statement = _for_job(session, job, tasks[job.key], unschedulable)
        if statement is not None and job.may_start:
            session.commit(statement)
            if tasks[job.key]:
                insort(waiting[queue], job, key=session.order)
        queues.push(queue)


def _for_job(session: Session, job: Job, tasks: list[Task], unschedulable: dict[object, str]) -> Statement | None:
    """Place pods until the job is ready; return the statement, or None if it was discarded.

    Args:
        session: The cycle.
        job: The job.
        tasks: Its pending pods, removed as they are tried.
        unschedulable: Why pods of a shape are unschedulable, found before any pod of their job was placed.
    """
    statement, tried = Statement(), tuple(tasks)
    kind = session.kind(job, tried, "allocate")
    if kind is not None and (known := session.failed_requests.get(kind)) is not None:
        job.reasons.update((task.uid, why) for task, why in zip(tried, known, strict=True) if why)
        return None
    while tasks:
        task = tasks.pop(0)
        why = session.capacity.refused(job.queue, task.request)
        if why:
            job.reasons[task.uid] = why
            continue
        if task.role and task.role in job.failed_roles:
            job.reasons[task.uid] = job.failed_roles[task.role]
            continue
        session.prepared.add(task.uid)
        shape = _shape(session, task)
        if shape is not None and shape in unschedulable:
            job.reasons[task.uid] = unschedulable[shape]
            has_place = False
        else:
            has_place = _place(session, statement, task)
            if not has_place and shape is not None and not statement.done:
                unschedulable[shape] = job.reasons[task.uid]
        if not has_place:
            job.failed_roles[task.role] = job.reasons[task.uid]
            if not job.may_continue():
                break
            continue
        if job.may_start:
            break
    if job.may_start or job.may_start_later:
        session.forget(statement)
        return statement
    session.discard(statement)
    if kind is not None:
        session.failed_requests[kind] = tuple(job.reasons.get(task.uid, "") for task in tried)
    return None


def _shape(session: Session, task: Task) -> object | None:
    """Return the shape of pods in a queue that all fail if one does; None if other pods affect the placement."""
    if session.nominated.get(task.uid) or session.nodes.has_anti_affinity:
        return None
    shape = alike_on_nodes(task.pod)
    return None if shape is None else (task.queue, shape)


def _place(session: Session, statement: Statement, task: Task) -> bool:
    """Allocate a pod on idle resources, or else pipeline it on releasing ones."""
    nominated = session.nominated.get(task.uid)
    ranking = None if nominated else session.ranking(task)
    nodes = session.nodes.all if ranking is None else session.changing()
    idle: list[NodeState] = []
    later: list[NodeState] = []
    statuses: list[FilterStatus] = []
    for node, filter_status in session.filtered(task, nodes):
        if filter_status is not None:
            statuses.append(filter_status)
        elif not session.fits_later(task, node):
            # Resources that another pod is pipelined on are not available twice.
            statuses.append(insufficient(tuple(session.lacking_later(task, node))))
        elif not session.changes(node) or fits_on(task.request, node):
            idle.append(node)
        else:
            later.append(node)
    if nominated and any(node.name == nominated for node in (*idle, *later)):
        idle, later = [n for n in idle if n.name == nominated], [n for n in later if n.name == nominated]
    if ranking is not None:
        best = session.best_ranked(task, ranking, idle)
    else:
        best = session.best(task, idle) if idle else None
    if best is not None:
        session.allocate(statement, task, best)
    elif later:
        session.pipeline(statement, task, session.best(task, later))
    else:
        if ranking is not None:
            changing = {node.row for node in nodes}
            statuses += [
                status for row, status in enumerate(ranking.statuses) if status is not None and row not in changing
            ]
        task.job.reasons[task.uid] = explained(statuses, len(session.nodes.all))
        return False
    return True


def backfill(session: Session) -> None:
    """Backfill pods without requests."""
    chosen = [job for job in session.wanting if job.has_best_effort and session.is_schedulable(job)]
    waiting: dict[str, list[Job]] = {}
    for job in chosen:
        for task in list(job.tasks.values()):
            if task.is_best_effort and task.status is Status.PIPELINED:
                session.unpipeline(task)
        if job.n_free:
            waiting.setdefault(job.queue, []).append(job)
    queues = session.queues(job for jobs in waiting.values() for job in jobs)
    for job in [job for queue in queues.all() for job in session.in_order(waiting[queue])]:
        for task in job.waiting():
            if task.is_best_effort:
                _backfill(session, task)


def _backfill(session: Session, task: Task) -> None:
    """Place a pod without requests; once its job may start, all its placed pods are bound."""
    found = session.predicates(task)
    fitting = [node for node in session.nodes.all if found[node.name] is None]
    if not fitting:
        reasons = [filter_status for filter_status in found.values() if filter_status is not None]
        task.job.reasons[task.uid] = explained(reasons, len(found))
        return
    statement = Statement()
    session.allocate(statement, task, session.best(task, fitting))
    if task.job.may_start:
        statement.placed = [
            each
            for each in task.job.tasks.values()
            if each.status is Status.ALLOCATED and each.uid not in session.bound
        ]
        session.commit(statement)
    else:
        session.forget(statement)
