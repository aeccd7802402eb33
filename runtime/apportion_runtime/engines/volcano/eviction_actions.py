"""Volcano's actions that evict: preempt within a queue, reclaim between queues.

Source: pkg/scheduler/actions/preempt, reclaim; pkg/scheduler/framework/session_plugins.go (Preemptable, Reclaimable,
BuildVictimsPriorityQueue); the preemptable functions of priority, gang, conformance and capacity.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from apportion_runtime.engines.kube_scheduler.equivalence import alike_on_nodes
from apportion_runtime.engines.kube_scheduler.nodes import NodeState
from apportion_runtime.engines.volcano.configuration import is_decided_by
from apportion_runtime.engines.volcano.gang_places import best_places, lacks_places, ranked_places
from apportion_runtime.engines.volcano.jobs import Job, Status, Task
from apportion_runtime.engines.volcano.node_ranking import is_candidate
from apportion_runtime.engines.volcano.priority_queue import PriorityQueue
from apportion_runtime.engines.volcano.reclaim_rules import may_reclaim
from apportion_runtime.engines.volcano.session import Session
from apportion_runtime.engines.volcano.statement import Statement, merge
from apportion_runtime.engines.volcano.victims import (
    agreed_victims,
    candidate_nodes,
    fits_without,
    has_victim,
    tiers_of,
    victim_queue,
)

PREEMPT, RECLAIM = "preempt", "reclaim"


def preempt(session: Session) -> None:
    """Preempt jobs of lower priority in the same queue, and pods of the same job."""
    starving = _starving(session)
    if not starving:
        return
    queues = PriorityQueue(session.capacity.compare, sorted(starving))
    by_priority = is_decided_by(session.configuration, "priority", "Preemptable")
    by_gang = is_decided_by(session.configuration, "gang", "Preemptable")
    while queues:
        queue = queues.pop()
        least = session.index.least_priority(queue)
        for job in session.in_order(starving[queue]):
            statement, waiting = Statement(), job.waiting()
            kind = session.kind(job, waiting, PREEMPT)
            if kind in session.failed_requests:
                continue
            evicts = (not by_priority or (least is not None and job.group.priority > least)) and (
                not by_gang or session.index.has_surplus(queue)
            )
            if kind is not None and not evicts and lacks_places(session, job, waiting) is not None:
                continue
            for task in waiting:
                if not session.is_starving(job):
                    break
                _preempt(session, statement, task, in_job=False, evicts=evicts)
            _settle(session, statement, kind, done=job.may_start_later)
        for job in starving[queue]:
            for task in job.waiting():
                statement = Statement()
                evicts = (not by_gang or job.n_ready > job.least) and (not by_priority or _has_lower(job, task))
                # Without an eviction, a pod is nominated to free resources, although its gang cannot start.
                found = _preempt(session, statement, task, in_job=True, evicts=evicts)
                _settle(session, statement, None, done=found)
                if not found:
                    break


def _has_lower(job: Job, task: Task) -> bool:
    """Return whether a job has a running pod of a lower priority than one of its pending pods."""
    return any(
        other.status is Status.RUNNING and other.pod.priority < task.pod.priority for other in job.tasks.values()
    )


def _settle(session: Session, statement: Statement, kind: object | None, *, done: bool) -> None:
    """Commit or discard a statement; after a discard, equivalent jobs would fail as well."""
    if done:
        session.commit(statement)
        return
    has_promised = bool(statement.nominated)
    session.discard(statement)
    if kind is not None and not has_promised:
        session.failed_requests[kind] = ()


def _starving(session: Session) -> dict[str, list[Job]]:
    """Return the starving jobs of each queue; upstream has them in any order, here in that of their ids."""
    found: dict[str, list[Job]] = {}
    for job in sorted(session.wanting, key=lambda job: job.key):
        if session.is_schedulable(job) and session.is_starving(job):
            found.setdefault(job.queue, []).append(job)
    return found


def _preempt(session: Session, statement: Statement, task: Task, *, in_job: bool, evicts: bool) -> bool:
    """Find a node with free resources for a pod, or evict pods of its own job or of others in its queue.

    Return whether there is one.
    """
    if not task.pod.may_preempt or not _is_eligible(session, task):
        return False
    session.prepared.add(task.uid)
    places = None if evicts else session.places(task)
    if places is not None and not places.total:
        return False
    holding = task.job.key if task.job.n_holding else ""
    search = _search(session, statement, task, PREEMPT, task.queue, task.job.group.priority, holding, in_job)
    if search is not None and search in session.unpreemptable_requests:
        return False

    holders = session.nodes_of(task.queue) if evicts else frozenset[str]()

    def may_leave(node: NodeState) -> list[Task]:
        return [
            other
            for other in (session.running.on(node).get(task.queue, ()) if node.name in holders else ())
            if (other.job is task.job) is in_job and (not task.is_best_effort or other.is_best_effort)
        ]

    nodes: Iterable[tuple[NodeState, bool]] = ()
    if evicts or not session.capacity.refused(task.queue, task.request):
        if places is not None and (ranking := session.ranking(task)) is not None:
            best = best_places(session, task, places, ranking, idle=False)
            session.pipeline(statement, task, session.nodes.all[int(best[0])], nominates=False)
            return True
        nodes = _by_score(
            session, task, holders, lambda node: agreed_victims(session, task, may_leave(node), "Preemptable")
        )
    for node, is_admitted in nodes:
        victims = agreed_victims(session, task, may_leave(node), "Preemptable")
        attempt = Statement()
        leaving = victim_queue(session, victims, task)
        while leaving and not _has_room(session, task, node, is_admitted=is_admitted):
            session.evict(attempt, leaving.pop(), task, PREEMPT)
        if _has_room(session, task, node, is_admitted=is_admitted):
            # Upstream counts no eviction if the victims request nothing but a place (normalPreempt, Resource.IsEmpty).
            nominates = any(not victim.is_best_effort for victim, _, _ in attempt.evicted)
            session.pipeline(attempt, task, node, nominates=nominates)
            merge(statement, attempt)
            return True
        session.discard(attempt)
    if search is not None:
        session.unpreemptable_requests.add(search)
    return False


def _search(session: Session, statement: Statement, task: Task, *what: object) -> object | None:
    """Return the cache key of a search whose result is valid until a decision; None after a decision, or if other pods matter."""
    if statement.done or session.nodes.has_anti_affinity:
        return None
    shape = alike_on_nodes(task.pod)
    return None if shape is None else (shape, *what)


def _is_eligible(session: Session, task: Task) -> bool:
    """Return whether a pod may look for a node other than its nominated one.

    Source: actions/preempt/preempt.go (taskEligibleToPreempt). A pod that fits its node is not eligible. For a pod that
    no action has examined before, upstream cannot tell: its filters have no state yet and reject every node.
    """
    name = session.nominated.get(task.uid)
    if not name:
        return True
    node = session.nodes.get(name)
    if node is None:
        return False
    ((_, filter_status),) = session.filtered(task, (node,))
    if filter_status is None and task.uid in session.prepared:
        return False
    is_final = filter_status is not None and filter_status.for_good
    return is_final or not any(
        node.pods[uid].priority < task.pod.priority for uid in session.leaving & node.pods.keys()
    )


def _has_room(session: Session, task: Task, node: NodeState, *, is_admitted: bool) -> bool:
    """Return whether a pod fits on a node; `is_admitted` if it could run there before pods were evicted."""
    return (
        not session.capacity.refused(task.queue, task.request)
        and session.fits_later(task, node)
        and (is_admitted or session.admits(task, node))
    )


def reclaim(session: Session) -> None:
    """Reclaim for queues within their deserved resources from queues above theirs."""
    starving = _starving(session)
    known: dict[tuple[object, ...], bool] = {}
    if not any(_may_reclaim(session, job, known) for jobs in starving.values() for job in jobs):
        return
    queues = session.queues(session.index.schedulable)
    while queues:
        queue = queues.pop()
        waiting_jobs = session.in_order(starving.pop(queue, ()))
        for number, job in enumerate(waiting_jobs, 1):
            if _may_reclaim(session, job, known):
                _reclaim_for(session, queue, job)
            if number < len(waiting_jobs):
                # The queue has no more jobs when it is next; but it moves the others, whose shares have changed.
                queues.push(queue)


def _may_reclaim(session: Session, job: Job, known: dict[tuple[object, ...], bool]) -> bool:
    """Return whether the queue of a job may reclaim for any of its pods.

    Args:
        session: The cycle.
        job: The job.
        known: The results for queues and shapes of pods, each at a version of the allocations.
    """
    waiting = job.waiting()
    shape = job.shape(waiting)
    if shape is None:
        return True
    key = session.capacity.version, shape.queue, shape.of_pods
    found = known.get(key)
    if found is None:
        found = known[key] = may_reclaim(session.capacity, shape.queue, waiting[0].request)
    return found


def _reclaim_for(session: Session, queue: str, job: Job) -> None:
    statement, waiting = Statement(), job.waiting()
    kind = session.kind(job, waiting, RECLAIM)
    if kind in session.failed_requests:
        return
    for task in waiting:
        if not session.is_starving(job):
            break
        if task.pod.may_preempt and may_reclaim(session.capacity, queue, task.request):
            session.prepared.add(task.uid)
            _reclaim(session, statement, task)
    _settle(session, statement, kind, done=job.may_start_later)


def _reclaim(session: Session, statement: Statement, task: Task) -> None:
    queues = session.capacity.queues
    search = _search(session, statement, task, RECLAIM, task.queue)
    if search is not None and search in session.unpreemptable_requests:
        return
    yields = tiers_of(session.configuration, "Reclaimable")
    others = {name for name, queue in queues.items() if queue.spec.reclaimable} - {task.queue}
    # Whether a node passes the filters does not depend on the pods whose eviction is tried on the nodes before it.
    for node in candidate_nodes(session, task):
        if not has_victim(session, task, node, others, yields) and not session.fits_later(task, node):
            continue
        candidates = session.running.of_queues(node, others)
        # There must be a possible victim, although after an earlier eviction no further one may be needed.
        if not candidates:
            continue
        if not fits_without(session, task, node, candidates):
            continue
        victims = agreed_victims(session, task, candidates, "Reclaimable")
        if not fits_without(session, task, node, victims):
            continue
        attempt = Statement()
        leaving = victim_queue(session, victims, task)
        while leaving and not session.fits_later(task, node):
            session.evict(attempt, leaving.pop(), task, RECLAIM)
        if session.fits_later(task, node):
            session.pipeline(attempt, task, node, nominates=bool(attempt.evicted))
            merge(statement, attempt)
            return
        session.discard(attempt)
    if search is not None:
        session.unpreemptable_requests.add(search)


def _by_score(
    session: Session, task: Task, holders: Collection[str], victims: Callable[[NodeState], list[Task]]
) -> Iterator[tuple[NodeState, bool]]:
    """Yield the nodes where a pod fits, if necessary instead of victims, the best first, and whether it can run there now.

    An attempt on a node that is discarded has no effect on the others.

    Args:
        session: The cycle.
        task: The pod.
        holders: The names of the nodes that may have victims.
        victims: Returns the victims on a node.
    """
    ranking, places = session.ranking(task), session.places(task)
    if ranking is not None and places is not None:
        rows = [node.row for name in holders if (node := session.nodes.get(name)) is not None]
        for row in ranked_places(session, task, places, ranking, rows):
            node = session.nodes.all[row]
            if places.fits(row) or fits_without(session, task, node, victims(node)):
                yield node, session.admits(task, node)
        return
    found = session.predicates(task)
    nodes = [node for node in session.nodes.all if is_candidate(found[node.name])]
    enough = [
        node
        for node in nodes
        if session.fits_later(task, node) or (node.name in holders and fits_without(session, task, node, victims(node)))
    ]
    if len(enough) > 1:
        scored = session.scored(task, nodes)
        enough.sort(key=lambda node: (-scored[node.name], node.name))
    yield from ((node, found[node.name] is None) for node in enough)
