"""The pods that Volcano's plugins allow preempt and reclaim to evict, and their order.

Source: pkg/scheduler/framework/session_plugins.go (Preemptable, Reclaimable, BuildVictimsPriorityQueue); the preemptable and
reclaimable functions of priority, gang, conformance and capacity.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from apportion_api.volcano.configuration import Plugin, SchedulerConfiguration
from apportion_runtime.engines.kube_scheduler.equivalence import alike_on_nodes
from apportion_runtime.engines.kube_scheduler.filters import Filters
from apportion_runtime.engines.kube_scheduler.nodes import NodeState
from apportion_runtime.engines.volcano.amounts import fits, plus
from apportion_runtime.engines.volcano.jobs import Task
from apportion_runtime.engines.volcano.node_ranking import is_candidate
from apportion_runtime.engines.volcano.priority_queue import PriorityQueue
from apportion_runtime.engines.volcano.reclaim_rules import is_first_victim, reclaimable
from apportion_runtime.engines.volcano.session import Session
from apportion_runtime.snapshots.pod_requests import PODS, total

_CRITICAL = ("system-cluster-critical", "system-node-critical")
_SYSTEM_NAMESPACE = "kube-system"


def agreed_victims(session: Session, task: Task, candidates: Sequence[Task], what: str) -> list[Task]:
    """Return the victims allowed by all plugins of the first tier that decides.

    If two plugins agree on no victim, the next one of the tier decides again, because upstream treats an empty
    intersection as undecided (framework/session_plugins.go, Preemptable and Reclaimable).
    """
    for tier in session.configuration.tiers:
        agreed: list[Task] = []
        for plugin in tier.plugins:
            message = _by_plugin(session, plugin, task, candidates, what)
            if message is None:
                continue
            agreed = [other for other in agreed if other in message] if agreed and message else message
            if not message:
                break
        if agreed:
            return agreed
    return []


def _by_plugin(
    session: Session, plugin: Plugin, task: Task, candidates: Sequence[Task], what: str
) -> list[Task] | None:
    """Return the victims that a plugin allows; None if it does not decide."""
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
            ordered = victim_queue(session, candidates, task).all()
            return [ordered[i] for i in reclaimable(session.capacity, task.queue, task.request, ordered)]
        case _:
            return None


def _is_less_important(other: Task, task: Task) -> bool:
    if other.job is task.job:
        return other.pod.priority < task.pod.priority
    return other.job.group.priority < task.job.group.priority


def _beyond_minimum(candidates: Sequence[Task]) -> list[Task]:
    """Return the pods whose eviction leaves their jobs at or above the gang minimum."""
    left: dict[str, int] = {}
    found: list[Task] = []
    for task in candidates:
        ready = left.setdefault(task.job.key, task.job.n_ready)
        if ready > task.job.least:
            left[task.job.key] = ready - 1
            found.append(task)
    return found


def victim_queue(session: Session, victims: Sequence[Task], task: Task) -> PriorityQueue[Task]:
    """Return victims in order: the nearest queue, then the lowest priority job, then its last pod.

    The order changes while victims are evicted: a job that is no longer ready comes later.
    """
    by_queue = session.capacity.victim_order(task.queue)

    def compare(left: Task, right: Task) -> int:
        if left.queue != right.queue:
            return by_queue(left.queue, right.queue)
        one, other = session.rank(left.job), session.rank(right.job)
        if one != other:
            return 1 if one < other else -1
        return left.is_before(right) - right.is_before(left)

    return PriorityQueue(compare, victims)


def tiers_of(configuration: SchedulerConfiguration, what: str) -> list[list[str]]:
    """Return the plugins of each tier that select victims by rules of their own."""
    tiers = [[plugin.name for plugin in tier.plugins if plugin.does(what)] for tier in configuration.tiers]
    selecting = [[name for name in names if name in ("gang", "conformance", "capacity")] for names in tiers]
    return [names for names in selecting if names]


def has_victim(
    session: Session, task: Task, node: NodeState, queues: Collection[str], tiers: Sequence[Sequence[str]]
) -> bool:
    """Return whether reclaim may have a victim on a node: a tier has none if any of its plugins allows none.

    Args:
        session: The cycle.
        task: The pod.
        node: The node.
        queues: The queues whose pods may be evicted.
        tiers: The plugins of each tier that select victims.
    """
    running, kinds = session.running.on(node), session.running.kinds(node)
    # An earlier victim only brings its queue nearer to its deserved resources.
    return any(
        ("gang" not in names or any(other.job.n_ready > other.job.least for other in _of(running, queues)))
        and (
            "capacity" not in names
            or any(is_first_victim(session.capacity, task.queue, task.request, other) for other in _of(kinds, queues))
        )
        for names in tiers
    )


def _of(tasks: Mapping[str, Sequence[Task]], queues: Collection[str]) -> Iterator[Task]:
    return (task for queue, found in tasks.items() if queue in queues for task in found)


def candidate_nodes(session: Session, task: Task) -> Iterator[NodeState]:
    """Yield the nodes where evictions may make room for a pod."""
    nodes = session.nodes
    if session.groups is None and not nodes.has_anti_affinity and alike_on_nodes(task.pod) is not None:
        # The other filters of such a pod reject a node only until pods are evicted.
        filters = Filters(task.pod, session.profile, nodes)
        yield from (node for node in nodes.all if filters.fixed_status(node) is None)
    else:
        yield from (node for node, status in session.filtered(task, nodes.all) if is_candidate(status))


def fits_without(session: Session, task: Task, node: NodeState, victims: Sequence[Task]) -> bool:
    """Return whether a pod fits into the future idle resources of a node and those of victims, also by the number of pods."""
    freed = {**total(each.request for each in victims), PODS: len(victims)}
    return fits({**task.request, PODS: 1}, plus(session.future_idle(node), freed))
