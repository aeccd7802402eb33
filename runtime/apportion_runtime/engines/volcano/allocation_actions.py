"""Volcano's actions that allocate: enqueue, allocate, backfill.

Source: pkg/scheduler/actions/enqueue, allocate, backfill.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from apportion_runtime.engines.kube_scheduler.equivalence import alike_on_nodes
from apportion_runtime.engines.kube_scheduler.filter_status import FilterStatus
from apportion_runtime.engines.kube_scheduler.node_ranking import NodeRanking
from apportion_runtime.engines.kube_scheduler.node_statuses import explained, explained_counts
from apportion_runtime.engines.kube_scheduler.nodes import NodeState
from apportion_runtime.engines.volcano.amounts import minus
from apportion_runtime.engines.volcano.future_places import ShapePlaces
from apportion_runtime.engines.volcano.gang_places import best_places, lacks_places
from apportion_runtime.engines.volcano.group_state import Phase
from apportion_runtime.engines.volcano.insufficient import insufficient
from apportion_runtime.engines.volcano.jobs import Job, Status, Task
from apportion_runtime.engines.volcano.node_ranking import fits_on
from apportion_runtime.engines.volcano.priority_queue import PriorityQueue
from apportion_runtime.engines.volcano.session import Session
from apportion_runtime.engines.volcano.statement import Statement
from apportion_runtime.snapshots.pod_requests import PODS


def enqueue(session: Session) -> None:
    """Enqueue jobs whose minimum fits into their queues, one job per queue in turn."""
    capacity = session.capacity
    pending: dict[str, list[Job]] = {}
    # A job whose pods were all bound in the last cycle may be pending again, and then counts twice for its queue.
    for job in session.in_order(session.index.pending):
        if job.queue in capacity.queues:
            pending.setdefault(job.queue, []).append(job)
    if _is_any_order(session, pending):
        queues = PriorityQueue(_in_any_order, pending)
    else:
        queues = session.queues(session.index.keys)
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
        session.index.set_phase(job, Phase.INQUEUE)
        job.group.why = ""
        capacity.count(queue, requested={}, inqueue=least or {}, elastic={})


def _in_any_order(one: str, other: str) -> int:
    """Compare queues as equal."""
    return 0


def _is_any_order(session: Session, pending: Mapping[str, Sequence[Job]]) -> bool:
    """Return whether the same jobs are enqueued in any order of the queues.

    A queue rejects no fewer jobs after others have been enqueued, so it is enough that no answer differs between the
    first job and the last.
    """
    if len(pending) <= 1:
        return True
    capacity = session.capacity
    asked = [
        (queue, job.group.least_resources)
        for queue, jobs in pending.items()
        for job in jobs
        if job.group.least_resources is not None
    ]
    first = [capacity.not_enqueued(queue, least) for queue, least in asked]
    enqueued = [each for each, why in zip(asked, first, strict=True) if not why]
    for queue, least in enqueued:
        capacity.count(queue, requested={}, inqueue=least, elastic={})
    last = [capacity.not_enqueued(queue, least) for queue, least in asked]
    for queue, least in enqueued:
        capacity.count(queue, requested={}, inqueue=minus({}, least), elastic={})
    return first == last


def _keys(jobs: Mapping[str, Sequence[Job]]) -> Mapping[str, Sequence[str]]:
    """Return the key of the first job of each queue."""
    return {queue: (min(job.key for job in of_queue),) for queue, of_queue in jobs.items()}


def allocate(session: Session) -> None:
    """Allocate jobs, one job per queue in turn: the gang minimum, or nothing."""
    if "enqueue" not in session.configuration.actions:
        for job in session.index.pending:
            session.index.set_phase(job, Phase.INQUEUE)
    waiting: dict[str, list[Job]] = {}
    tasks: dict[str, Sequence[Task]] = {}
    for job in session.wanting:
        if session.is_schedulable(job):
            found = job.requesting()
            if found:
                tasks[job.key] = found
                waiting.setdefault(job.queue, []).append(job)
    unschedulable: dict[object, str] = {}
    waiting = {queue: session.in_order(jobs) for queue, jobs in waiting.items()}
    queues = session.queues(_keys(waiting))
    while queues:
        queue = queues.pop()
        if not waiting[queue]:
            continue
        job = waiting[queue].pop(0)
        statement, tasks[job.key] = _for_job(session, job, tasks[job.key], unschedulable)
        if statement is not None and job.may_start:
            session.commit(statement)
            if tasks[job.key]:
                insort(waiting[queue], job, key=session.order)
        queues.push(queue)


def _for_job(
    session: Session, job: Job, tried: Sequence[Task], unschedulable: dict[object, str]
) -> tuple[Statement | None, Sequence[Task]]:
    """Place pods until the job is ready; return the statement, or None if it was discarded, and the pods not tried.

    Args:
        session: The cycle.
        job: The job.
        tried: Its pending pods.
        unschedulable: Why pods of a shape are unschedulable, found before any pod of their job was placed.
    """
    if _is_hopeless(session, job, tried, unschedulable):
        return None, tried
    # Once a role has failed, another `allocate` gives all its pods that reason.
    kind = None if job.failed_roles else session.kind(job, tried, "allocate")
    if kind is not None and (known := session.failed_requests.get(kind)) is not None:
        _fail_as_known(job, tried, known)
        return None, tried
    statement, tasks = Statement(), list(tried)
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
        return statement, tasks
    session.discard(statement)
    if kind is not None:
        reasons = [job.reasons.get(task.uid, "") for task in tried]
        session.failed_requests[kind] = tuple(
            (why, bool(why) and job.failed_roles.get(task.role) == why)
            for task, why in zip(tried, reasons, strict=True)
        )
    return None, tasks


def _fail_as_known(job: Job, tried: Sequence[Task], known: Sequence[tuple[str, bool]]) -> None:
    """Note the reasons of another job of the same shape, as a try would."""
    for task, (why, is_of_role) in zip(tried, known, strict=True):
        if why:
            job.reasons[task.uid] = why
        if is_of_role:
            job.failed_roles[task.role] = why


def _is_hopeless(session: Session, job: Job, tried: Sequence[Task], unschedulable: dict[object, str]) -> bool:
    """Return whether a gang of equal pods lacks places, after noting why, as a try of it would.

    A try would place pods as long as there are places, then give up, and discard what it did.

    Args:
        session: The cycle.
        job: The job.
        tried: Its pending pods.
        unschedulable: Why pods of a shape are unschedulable, as in `_for_job`.
    """
    if job.failed_roles or job.least < len(job.tasks) + job.group.n_succeeded:
        return False
    places = lacks_places(session, job, tried)
    if places is None:
        return False
    task, why = tried[places.total], places.why_full
    if not places.total and (shape := _shape(session, task)) is not None:
        why = unschedulable.setdefault(shape, why)
    job.reasons[task.uid] = job.failed_roles[task.role] = why
    return True


def _shape(session: Session, task: Task) -> object | None:
    """Return the shape of pods in a queue that all fail if one does; None if other pods affect the placement."""
    if session.nominated.get(task.uid) or session.nodes.has_anti_affinity:
        return None
    shape = alike_on_nodes(task.pod)
    return None if shape is None else (task.queue, shape)


def _place(session: Session, statement: Statement, task: Task) -> bool:
    """Allocate a pod on idle resources, or else pipeline it on releasing ones."""
    nominated = session.nominated.get(task.uid)
    if nominated or session.has_changing:
        places = session.places(task)
        if places is not None and (ranking := session.ranking(task)) is not None:
            return _take_place(session, statement, task, places, ranking)
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
        elif not session.changes(node) or (fits_on(task.request, node) and node.has_room):
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
        counts = Counter(statuses)
        if ranking is not None:
            counts.update(ranking.counts_without([node.row for node in nodes]))
        task.job.reasons[task.uid] = explained_counts(counts, len(session.nodes.all))
        return False
    return True


def _take_place(session: Session, statement: Statement, task: Task, places: ShapePlaces, ranking: NodeRanking) -> bool:
    """Place a pod as `_place` does, with the places that are counted for its shape."""
    if not places.total:
        task.job.reasons[task.uid] = places.why_full
        return False
    node = session.nodes.get(session.nominated.get(task.uid, ""))
    if node is None or not places.fits(node.row):
        found = best_places(session, task, places, ranking, idle=True)
        if not len(found):
            found = best_places(session, task, places, ranking, idle=False)
        node = session.last(found)
    if places.is_idle(node.row):
        session.allocate(statement, task, node)
    else:
        session.pipeline(statement, task, node)
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
    queues = session.queues(_keys(waiting))
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
    statement, node = Statement(), session.best(task, fitting)
    session.allocate(statement, task, node)
    if task.job.may_start:
        statement.placed = list(_dispatched(session, task.job))
        session.commit(statement)
    else:
        session.forget(statement)


def _dispatched(session: Session, job: Job) -> Iterator[Task]:
    """Yield the placed pods of a job up to the first whose bind fails; upstream has them in any order, here in that of their ids.

    A bind fails if the node has no room: filters do not count a pod whose eviction was tried, but the scheduler's cache does.
    The cache does not count the placed pods of jobs that may not start.

    Source: pkg/scheduler/framework/session.go (Allocate), which returns at the first error; cache/cache.go (AddBindTask).
    """
    bound: set[str] = set()
    for uid in sorted(job.tasks):
        task = job.tasks[uid]
        if task.status is Status.ALLOCATED and uid not in session.bound and task.node is not None:
            held = [each for each in task.node.pods if each in bound or not _is_unbound(session, each)]
            if len(held) >= task.node.allocatable.get(PODS, 0):
                return
            bound.add(uid)
            yield task


def _is_unbound(session: Session, uid: str) -> bool:
    """Return whether a pod was placed in the cycle, and is not bound."""
    task = session.tasks.get(uid)
    return task is not None and task.status is Status.ALLOCATED and uid not in session.bound
