"""Volcano's actions that evict: preempt within a queue, reclaim between queues.

Source: pkg/scheduler/actions/preempt, reclaim; pkg/scheduler/framework/session_plugins.go (Preemptable, Reclaimable,
BuildVictimsPriorityQueue); the preemptable functions of priority, gang, conformance and capacity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cmp_to_key

from apportion_api.volcano.configuration import Plugin
from apportion_runtime.engines.kube_scheduler.nodes import NodeState
from apportion_runtime.engines.kube_scheduler.scheduler import alike_on_nodes
from apportion_runtime.engines.volcano.amounts import fits, plus
from apportion_runtime.engines.volcano.jobs import HOLDING, Job, Status, Task
from apportion_runtime.engines.volcano.session import Session, Statement, merge
from apportion_runtime.sim.api.pod_requests import total

_CRITICAL = ("system-cluster-critical", "system-node-critical")
_SYSTEM_NAMESPACE = "kube-system"
PREEMPT, RECLAIM = "preempt", "reclaim"


def preempt(session: Session) -> None:
    """Have important jobs take the place of less important ones in their queue, and pods that of others of their job."""
    starving = _starving(session)
    least = _least_priorities(session)
    for queue in session.capacity.in_order(starving):
        for job in session.in_order(starving[queue]):
            if not _is_over(job.group.priority, least.get(queue), session):
                continue
            statement, waiting = Statement(), job.waiting()
            kind = session.kind(job, waiting, PREEMPT)
            if kind in session.fruitless:
                continue
            for task in waiting:
                if not session.is_starving(job):
                    break
                _preempt(session, statement, task, in_job=False)
            _settle(session, statement, kind, done=job.is_pipelined)
        for job in starving[queue]:
            own = [task.pod.priority for task in job.tasks.values() if task.status in HOLDING]
            for task in job.waiting():
                if not _is_over(task.pod.priority, min(own, default=None), session):
                    break
                statement = Statement()
                found = _preempt(session, statement, task, in_job=True)
                _settle(session, statement, None, done=found)
                if not found:
                    break


def _least_priorities(session: Session) -> dict[str, int]:
    """Return by queue the priority of the least important job that holds anything."""
    found: dict[str, int] = {}
    for job in session.jobs.values():
        if job.n_holding:
            found[job.queue] = min(job.group.priority, found.get(job.queue, job.group.priority))
    return found


def _is_over(priority: int, least: int | None, session: Session) -> bool:
    """Tell whether there is anybody who might leave: with the plugin priority, somebody less important."""
    if least is None:
        return False
    plugin = session.configuration.plugin("priority")
    return plugin is None or not plugin.does("Preemptable") or priority > least


def _settle(session: Session, statement: Statement, kind: object | None, *, done: bool) -> None:
    """Have decisions stand or take them back; jobs of the kind of one for which they are taken back fare no better."""
    if done:
        session.commit(statement)
        return
    session.discard(statement)
    if kind is not None:
        session.fruitless[kind] = ()


def _starving(session: Session) -> dict[str, list[Job]]:
    found: dict[str, list[Job]] = {}
    for job in session.wanting:
        if session.is_schedulable(job) and session.is_starving(job):
            found.setdefault(job.queue, []).append(job)
    return found


def _preempt(session: Session, statement: Statement, task: Task, *, in_job: bool) -> bool:
    """Find a node where pods leave for one, of its own job or of others in its queue; tell whether there is one."""
    if not task.pod.may_preempt or _waits_already(session, task):
        return False
    holding = task.job.key if task.job.n_holding else ""
    search = _search(session, statement, task, PREEMPT, task.queue, task.job.group.priority, holding, in_job)
    if search is not None and search in session.futile:
        return False

    def may_leave(node: NodeState) -> list[Task]:
        return [
            other
            for other in _on(session, node)
            if other.preemptable
            and other.queue == task.queue
            and (other.job is task.job) is in_job
            and (not task.is_best_effort or other.is_best_effort)
        ]

    for node in _by_score(session, task, may_leave):
        candidates = may_leave(node)
        victims = _agreed(session, task, candidates, "Preemptable")
        if not fits(task.request, plus(session.future_idle(node), total(v.request for v in victims))):
            continue
        attempt = Statement()
        for victim in _leaving_first(session, victims, task):
            if _has_room(session, task, node):
                break
            session.evict(attempt, victim, task, PREEMPT)
        if _has_room(session, task, node):
            session.pipeline(attempt, task, node, nominates=bool(attempt.evicted))
            merge(statement, attempt)
            return True
        session.discard(attempt)
    if search is not None:
        session.futile.add(search)
    return False


def _search(session: Session, statement: Statement, task: Task, *what: object) -> object | None:
    """Return what names a search that has one end as long as nothing is decided; None where something is, or company matters."""
    if statement.done or session.nodes.has_anti_affinity:
        return None
    shape = alike_on_nodes(task.pod)
    return None if shape is None else (shape, *what)


def _waits_already(session: Session, task: Task) -> bool:
    """Tell whether pods leave the node that a pod was promised."""
    node = session.nodes.get(session.nominated.get(task.uid, ""))
    return node is not None and any(
        other.status is Status.RELEASING and other.pod.priority < task.pod.priority
        for uid in node.pods
        if (other := session.tasks.get(uid)) is not None
    )


def _has_room(session: Session, task: Task, node: NodeState) -> bool:
    return not session.capacity.refused(task.queue, task.request) and session.fits_later(task, node)


def reclaim(session: Session) -> None:
    """Have queues take back what they deserve from those that hold more than they deserve."""
    starving = _starving(session)
    for queue in session.capacity.in_order(starving):
        for job in session.in_order(starving[queue]):
            statement, waiting = Statement(), job.waiting()
            kind = session.kind(job, waiting, RECLAIM)
            if kind in session.fruitless:
                continue
            for task in waiting:
                if not session.is_starving(job):
                    break
                if task.pod.may_preempt and session.capacity.may_reclaim(queue, task.request):
                    _reclaim(session, statement, task)
            _settle(session, statement, kind, done=job.is_pipelined)


def _reclaim(session: Session, statement: Statement, task: Task) -> None:
    queues = session.capacity.queues
    search = _search(session, statement, task, RECLAIM, task.queue)
    if search is not None and search in session.futile:
        return
    found = session.predicates(task)
    for node in session.nodes.all:
        misfit = found[node.name]
        if misfit is not None and misfit.for_good:
            continue
        candidates = [
            other
            for other in _on(session, node)
            if other.preemptable
            and other.status is Status.RUNNING
            and other.queue != task.queue
            and other.queue in queues
            and queues[other.queue].spec.reclaimable
        ]
        victims = _agreed(session, task, candidates, "Reclaimable") if candidates else []
        if not victims or not fits(task.request, plus(session.future_idle(node), total(v.request for v in victims))):
            continue
        attempt = Statement()
        for victim in _leaving_first(session, victims, task):
            if session.fits_later(task, node):
                break
            session.evict(attempt, victim, task, RECLAIM)
        if session.fits_later(task, node):
            session.pipeline(attempt, task, node, nominates=bool(attempt.evicted))
            merge(statement, attempt)
            return
        session.discard(attempt)
    if search is not None:
        session.futile.add(search)


def _on(session: Session, node: NodeState) -> list[Task]:
    """Return the pods on a node that have their place."""
    found = [session.tasks[uid] for uid in node.pods if uid in session.tasks]
    return [task for task in found if task.status in HOLDING]


def _by_score(session: Session, task: Task, may_leave: Callable[[NodeState], list[Task]]) -> list[NodeState]:
    """Return the nodes where an eviction could help, the best first; none where there is not enough even without all."""
    found = session.predicates(task)
    nodes = [node for node in session.nodes.all if found[node.name] is None]
    if not any(_is_enough(session, task, node, may_leave(node)) for node in nodes):
        return []
    scored = session.scored(task, nodes) if len(nodes) > 1 else dict.fromkeys((n.name for n in nodes), 0.0)
    return sorted(nodes, key=lambda node: (-scored[node.name], node.name))


def _is_enough(session: Session, task: Task, node: NodeState, leaving: Sequence[Task]) -> bool:
    lacking = list(session.lacking_later(task, node))
    return not lacking or fits(task.request, plus(session.future_idle(node), total(each.request for each in leaving)))


def _agreed(session: Session, task: Task, candidates: Sequence[Task], what: str) -> list[Task]:
    """Return the pods that all plugins of the first tier that decides let go."""
    for tier in session.configuration.tiers:
        agreed: list[Task] | None = None
        for plugin in tier.plugins:
            said = _by_plugin(session, plugin, task, candidates, what)
            if said is None:
                continue
            if not said:
                agreed = None
                break
            agreed = said if agreed is None else [other for other in agreed if other in said]
        if agreed is not None:
            return agreed
    return []


def _by_plugin(
    session: Session, plugin: Plugin, task: Task, candidates: Sequence[Task], what: str
) -> list[Task] | None:
    """Return the pods that a plugin lets go; None where it has nothing to say."""
    if not plugin.does(what):
        return None
    match plugin.name:
        case "priority" if what == "Preemptable":
            return [other for other in candidates if _is_less_important(other, task)]
        case "gang":
            return _beyond_minimum(candidates)
        case "conformance":
            return [
                other
                for other in candidates
                if other.pod.record.priority_class not in _CRITICAL and other.pod.record.namespace != _SYSTEM_NAMESPACE
            ]
        case "capacity" if what == "Reclaimable":
            ordered = _leaving_first(session, candidates, task)
            return [ordered[i] for i in session.capacity.reclaimable(task.request, ordered)]
        case _:
            return None


def _is_less_important(other: Task, task: Task) -> bool:
    if other.job is task.job:
        return other.pod.priority < task.pod.priority
    return other.job.group.priority < task.job.group.priority


def _beyond_minimum(candidates: Sequence[Task]) -> list[Task]:
    """Return the pods without which their jobs still have what starts together."""
    left: dict[str, int] = {}
    found: list[Task] = []
    for task in candidates:
        ready = left.setdefault(task.job.key, task.job.n_ready)
        if ready > task.job.least:
            left[task.job.key] = ready - 1
            found.append(task)
    return found


def _leaving_first(session: Session, victims: Sequence[Task], task: Task) -> list[Task]:
    """Return pods in the order in which they leave: the least important job of the nearest queue, its last pod."""
    by_queue = session.capacity.victim_order(task.queue)

    def compare(left: Task, right: Task) -> int:
        if left.queue != right.queue:
            return by_queue(left.queue, right.queue)
        if left.job is not right.job:
            return session.compare(right.job, left.job)
        return (left.order < right.order) - (left.order > right.order)

    return sorted(victims, key=cmp_to_key(compare))
