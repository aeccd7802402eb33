"""The session of a Volcano cycle: jobs, queues, nodes, and statements that can be discarded.

Source: pkg/scheduler/framework (session.go, session_plugins.go, statement.go), pkg/scheduler/plugins/nodeorder,
predicates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from apportion_api.volcano.configuration import Plugin, SchedulerConfiguration
from apportion_runtime.engines.kube_scheduler.filter_status import FilterStatus
from apportion_runtime.engines.kube_scheduler.filters import Filters
from apportion_runtime.engines.kube_scheduler.node_ranking import NodeRanking
from apportion_runtime.engines.kube_scheduler.nodes import Nodes, NodeState
from apportion_runtime.engines.volcano.capacity import Capacity
from apportion_runtime.engines.volcano.future_places import ShapePlaces
from apportion_runtime.engines.volcano.job_index import JobIndex
from apportion_runtime.engines.volcano.jobs import Job, Status, Task
from apportion_runtime.engines.volcano.node_groups import node_groups
from apportion_runtime.engines.volcano.node_ranking import (
    TOO_MANY_PODS,
    Rankings,
    fits_later,
    has_place,
    tie_key,
)
from apportion_runtime.engines.volcano.plugin_scores import plugin_scores
from apportion_runtime.engines.volcano.priority_queue import PriorityQueue
from apportion_runtime.engines.volcano.queue_totals import QueueTotals
from apportion_runtime.engines.volcano.running_tasks import RunningTasks
from apportion_runtime.engines.volcano.statement import Statement
from apportion_runtime.snapshots.pod_requests import PODS, add


class Session:
    """A cycle.

    Args:
        configuration: The enabled actions and plugins.
        nodes: The current nodes.
        capacity: The queues, with the allocation of their jobs.
        index: The jobs.
        tasks: Their pods by uid.
        nominated: The nominated node of each pod.
        rankings: The rankings of the nodes.
        totals: The totals of the queues at the last cycle; None counts all jobs.
        running: The pods that may be evicted, as of the last cycle; None reads all of them.

    Attributes:
        wanting: The jobs with pending pods at the start of the cycle.
        unpreemptable_requests: Failed searches, valid until a decision.
        failed_requests: Unschedulable jobs by shape: the reason for each pod, and whether its role failed with it.
        prepared: Pods that an action has examined.
        leaving: Pods that a scheduler evicted before this cycle and that still exist; not pods that were deleted.
        bound: Pods that are bound in this cycle, or whose binds failed.
        touched: Pods whose status or node was changed in this cycle, also by statements that were discarded.
        profile: kube-scheduler's plugins as Volcano uses them.
        groups: The node groups; None without the plugin.
    """

    def __init__(
        self,
        configuration: SchedulerConfiguration,
        nodes: Nodes,
        capacity: Capacity,
        index: JobIndex,
        tasks: Mapping[str, Task],
        *,
        nominated: Mapping[str, str],
        rankings: Rankings,
        totals: QueueTotals | None = None,
        running: RunningTasks | None = None,
    ) -> None:
        self.configuration = configuration
        self.nodes = nodes
        self.capacity = capacity
        self.index = index
        self.nominated = nominated
        self.tasks = tasks
        self.running = running or RunningTasks(tasks)
        self.unpreemptable_requests: set[object] = set()
        self.failed_requests: dict[object, tuple[tuple[str, bool], ...]] = {}
        self.prepared: set[str] = set()
        self.leaving: set[str] = set()
        self.bound: set[str] = set()
        self.touched: dict[str, None] = {}
        self._attempts: dict[str, str | None] = {}
        """By pod, the node of its last discarded attempt; None if that attempt had no victims."""
        self.committed: list[Statement] = []
        self._rankings = rankings
        self.profile = rankings.profile
        affinities = {name: queue.spec.affinity for name, queue in capacity.queues.items()}
        ancestors = {name: queue.ancestors for name, queue in capacity.queues.items()}
        self.groups = node_groups(configuration.plugin("nodegroup"), affinities, ancestors)
        self._coming: dict[str, dict[str, int]] = {}
        """The releasing resources of each node, less those of pods pipelined on it."""
        self._nodes_by_queue: Mapping[str, Collection[str]] | None = None
        self._seen: dict[str, NodeState] = {}
        """Nodes as kube-scheduler's plugins see them: without evicted pods, and with pipelined ones."""
        tiers = (_asked(tier.plugins, "JobStarving") for tier in configuration.tiers)
        self._starving_by = next(filter(None, tiers), ())
        self._places = rankings.places
        self._places.begin_cycle(self._coming, self._seen)
        index.begin_cycle()
        self.wanting = index.wanting
        self._orders = _asked(configuration.plugins, "JobOrder")
        for job in index.releasing:
            self._note_releasing(job)
        self._count(totals or QueueTotals())

    def _note_releasing(self, job: Job) -> None:
        """Add the releasing resources of a job to the nodes."""
        for task in job.tasks.values():
            if task.status is Status.RELEASING and task.node is not None and task.uid in task.node.pods:
                self._becomes_free(task.node, task.request, 1)
                if task.is_evicted:
                    self.leaving.add(task.uid)

    def _count(self, totals: QueueTotals) -> None:
        """Add the allocation and requests of jobs to their queues."""
        capacity, keys = self.capacity, self.index.keys
        totals.update(self.index, capacity)
        capacity.begin_cycle()
        if any(name in keys for name in capacity.inner):
            inner = (job for job in self.index.jobs.values() if job.queue in capacity.inner)
            name = min(inner, key=lambda job: job.number).queue
            capacity.fault = capacity.fault or f"queue {name} is not a leaf queue"

    def queues(self, keys: Mapping[str, Sequence[str]]) -> PriorityQueue[str]:
        """Return queues as a heap; upstream adds them in any order, here in that of the keys of their first jobs.

        Args:
            keys: The keys of the jobs of each queue, in order.
        """
        names = sorted((name for name in keys if name in self.capacity.queues), key=lambda name: keys[name][0])
        return PriorityQueue(self.capacity.compare, names)

    def in_order(self, jobs: Iterable[Job]) -> list[Job]:
        """Return jobs in job order."""
        return sorted(jobs, key=self.order)

    def order(self, job: Job) -> tuple[object, ...]:
        """Return the sort key of a job: by the plugins in order, then age."""
        return (*self.rank(job), job.group.created, job.key)

    def nodes_of(self, queue: str) -> Collection[str]:
        """Return the names of the nodes where preemptable pods of a queue ran when this was first asked in the cycle."""
        if self._nodes_by_queue is None:
            self._nodes_by_queue = self.running.nodes_by_queue(self.nodes.all)
        return self._nodes_by_queue.get(queue, ())

    def rank(self, job: Job) -> tuple[int, ...]:
        """Return a job's place among others by the plugins alone."""
        return tuple(-job.group.priority if plugin == "priority" else job.is_ready for plugin in self._orders)

    def is_starving(self, job: Job) -> bool:
        """Return whether a job is starving, by the first tier that decides."""
        return bool(self._starving_by) and all(job.is_starving(by) for by in self._starving_by)

    def is_schedulable(self, job: Job) -> bool:
        """Return whether a job is enqueued and has its gang minimum of pods."""
        return self.index.is_schedulable(job) and job.queue in self.capacity.queues

    def future_idle(self, node: NodeState) -> dict[str, int]:
        """Return the future idle resources of a node, also the number of pods."""
        idle = {name: node.free(name) for name in node.allocatable}
        idle[PODS] = node.allocatable.get(PODS, 0) - len(node.pods)
        add(idle, self._coming.get(node.name, {}))
        return idle

    def changes(self, node: NodeState) -> bool:
        """Return whether a node has releasing or pipelined pods."""
        return node.name in self._coming

    def lacking_later(self, task: Task, node: NodeState) -> Iterator[str]:
        """Yield the resources for which a pod exceeds a node's future idle."""
        coming, allocatable = self._coming.get(node.name, {}), node.allocatable
        for name, value in task.request.items():
            if value > (node.free(name) if name in allocatable else 0) + coming.get(name, 0):
                yield name
        if not has_place(node, coming):
            yield PODS

    def _becomes_free(self, node: NodeState, request: Mapping[str, int], sign: int) -> None:
        coming = self._coming.setdefault(node.name, {})
        for name, value in request.items():
            coming[name] = coming.get(name, 0) + sign * value
        coming[PODS] = coming.get(PODS, 0) + sign
        self._places.changes.append(node.row)

    def _seen_by_scores(self, node: NodeState) -> NodeState:
        """Return the copy of a node that scoring and the limit of its pods use, with changes that filters do not see.

        Source: pkg/scheduler/plugins/predicates/predicates.go (AllocateFunc, DeallocateFunc).
        """
        known = self._seen.get(node.name)
        if known is None:
            known = self._seen[node.name] = node.copy()
        return known

    def predicates(self, task: Task) -> dict[str, FilterStatus | None]:
        """Return why a pod cannot run on each node regardless of free resources; None if it can."""
        return {node.name: status for node, status in self.filtered(task, self.nodes.all)}

    def filtered(self, task: Task, nodes: Iterable[NodeState]) -> Iterator[tuple[NodeState, FilterStatus | None]]:
        """Yield some nodes, each with the reason why a pod cannot run there regardless of free resources."""
        filters = Filters(task.pod, self.profile, self.nodes)
        for node in nodes:
            filter_status = filters.filter_status(node)
            if filter_status is None and not self._seen.get(node.name, node).has_room:
                filter_status = TOO_MANY_PODS
            if filter_status is None and self.groups is not None:
                why = self.groups.refused(task.queue, node.record.labels)
                filter_status = FilterStatus((why,), for_good=True) if why else None
            yield node, filter_status

    def admits(self, task: Task, node: NodeState) -> bool:
        """Return whether a pod can run on a node regardless of free resources."""
        return all(status is None for _, status in self.filtered(task, (node,)))

    def best(self, task: Task, nodes: Sequence[NodeState]) -> NodeState:
        """Return the node with the best score, ties by name."""
        if len(nodes) == 1:
            return nodes[0]
        found = self.scored(task, nodes)
        return max(nodes, key=lambda node: (found[node.name], tie_key(node.name)))

    def ranking(self, task: Task) -> NodeRanking | None:
        """Return the ranking of the nodes for a pod; None if every node has to be examined."""
        return None if self.groups is not None else self._rankings.of(task.pod)

    def places(self, task: Task) -> ShapePlaces | None:
        """Return the places for pods like one; None if every node has to be examined."""
        if self.groups is not None or self.nodes.has_anti_affinity:
            return None
        found = self._places.of(task.pod)
        return None if found is None or found.is_bound_by_pods else found

    @property
    def has_changing(self) -> bool:
        """Whether there may be nodes with releasing or pipelined pods."""
        return bool(self._coming)

    def changing(self) -> list[NodeState]:
        """Return the nodes with releasing or pipelined pods, for which rankings do not hold."""
        return [node for name in self._coming if (node := self.nodes.get(name)) is not None]

    def best_ranked(self, task: Task, ranking: NodeRanking, others: Sequence[NodeState]) -> NodeState | None:
        """Return the best of the nodes that rankings hold for and fit, and of some others; None without any.

        Args:
            task: The pod.
            ranking: Its ranking.
            others: Fitting nodes among those with releasing or pipelined pods.
        """
        changing = frozenset(node.row for node in self.changing())
        best = self._rankings.best(ranking, changing)
        if best is None:
            return self.best(task, others) if others else None
        if not others:
            return self.nodes.all[best]
        found = self.scored(task, others)
        named = {node.name: found[node.name] for node in others}
        named[self.nodes.all[best].name] = ranking.score(best)
        return self.nodes.get(max(named, key=lambda name: (named[name], tie_key(name))))

    def last(self, rows: npt.NDArray[np.intp]) -> NodeState:
        """Return the node that is selected among equal ones."""
        return self.nodes.all[self._rankings.last(rows)]

    def scored(self, task: Task, nodes: Sequence[NodeState]) -> dict[str, float]:
        """Return the score of each node."""
        seen = [self._seen.get(node.name, node) for node in nodes]
        return plugin_scores(
            task, nodes, seen,
            configuration=self.configuration, profile=self.profile, groups=self.groups, all_nodes=self.nodes,
        )  # fmt: skip

    def allocate(self, statement: Statement, task: Task, node: NodeState) -> None:
        """Allocate a pod on idle resources."""
        self.touched[task.uid] = None
        statement.done.append((task, task.status, task.node))
        statement.placed.append(task)
        task.become(Status.ALLOCATED)
        task.node = node
        node.add(task.pod)
        if node.name in self._seen:
            self._seen[node.name].add(task.pod)
        self.capacity.charge(task.queue, task.request)

    def pipeline(self, statement: Statement, task: Task, node: NodeState, *, nominates: bool = False) -> None:
        """Pipeline a pod on releasing resources."""
        self.touched[task.uid] = None
        statement.done.append((task, task.status, task.node))
        if nominates:
            statement.nominated.append((task, node))
        task.become(Status.PIPELINED)
        task.node = node
        self._seen_by_scores(node).add(task.pod)
        self._becomes_free(node, task.request, -1)
        self.capacity.charge(task.queue, task.request)

    def unpipeline(self, task: Task) -> None:
        """Unpipeline a pod."""
        assert task.node is not None
        self.unpreemptable_requests.clear()
        self.failed_requests.clear()
        self._becomes_free(task.node, task.request, 1)
        self._seen_by_scores(task.node).remove(task.pod)
        self.capacity.charge(task.queue, task.request, -1)
        task.become(Status.PENDING)
        task.node = None

    def evict(self, statement: Statement, task: Task, by: Task, action: str) -> None:
        """Evict a pod for another."""
        self.touched[task.uid] = None
        statement.done.append((task, task.status, task.node))
        statement.evicted.append((task, by, action))
        assert task.node is not None
        self._becomes_free(task.node, task.request, 1)
        seen = self._seen_by_scores(task.node)
        if task.uid in seen.pods:
            seen.remove(task.pod)
        task.become(Status.RELEASING)
        self.capacity.charge(task.queue, task.request, -1)

    def discard(self, statement: Statement) -> None:
        """Discard a statement."""
        nominated_nodes = {task.uid: node.name for task, node in statement.nominated}
        for task, status, node in reversed(statement.done):
            if task.status in (Status.ALLOCATED, Status.PIPELINED):
                self._attempts[task.uid] = nominated_nodes.get(task.uid)
            if task.status is Status.ALLOCATED and task.node is not None:
                task.node.remove(task.pod)
                if task.node.name in self._seen:
                    self._seen[task.node.name].remove(task.pod)
                self.capacity.charge(task.queue, task.request, -1)
            elif task.status is Status.PIPELINED:
                self.unpipeline(task)
            elif task.status is Status.RELEASING and task.node is not None:
                # Scores do not count the pod again: its Reserve fails, because no PreFilter has run for it.
                self._becomes_free(task.node, task.request, -1)
                self.capacity.charge(task.queue, task.request)
            task.become(status)
            task.node = node
        statement.done.clear()
        statement.evicted.clear()
        statement.placed.clear()
        statement.nominated.clear()

    def note_attempts(self, tasks: Sequence[Task]) -> None:
        """Note that pods were examined, and all but the last one placed, by an attempt that was discarded."""
        self.prepared.update(task.uid for task in tasks)
        if self._attempts:
            self._attempts.update((task.uid, None) for task in tasks[:-1])

    def kind(self, job: Job, tasks: Sequence[Task], action: str) -> object | None:
        """Return the shape shared by equivalent jobs; None if their pods differ, or other pods matter."""
        if self.nodes.has_anti_affinity or not tasks:
            return None
        if self.nominated and any(task.uid in self.nominated for task in tasks):
            return None
        shape = job.shape(tasks)
        return None if shape is None else (action, shape)

    def forget(self, statement: Statement) -> None:
        """Invalidate the caches if a statement is not empty."""
        if statement.done:
            self.unpreemptable_requests.clear()
            self.failed_requests.clear()

    def commit(self, statement: Statement) -> None:
        """Commit a statement."""
        self.forget(statement)
        self.committed.append(statement)
        self.bound.update(task.uid for task in statement.placed)
        for task, _, _ in statement.done:
            self._attempts.pop(task.uid, None)

    def nominations(self) -> Mapping[str, str]:
        """Return the nominated node of each pod.

        Includes nodes of committed evictions, and those of the last attempt for the job even if it was discarded.

        Source: pkg/scheduler/api/job_info.go (TaskSchedulingReason), framework/statement.go (GenerateLastTxContext).
        """
        found = {task.uid: node.name for statement in self.committed for task, node in statement.nominated}
        return found | {uid: node for uid, node in self._attempts.items() if node is not None}

    def fits_later(self, task: Task, node: NodeState) -> bool:
        """Return whether a pod fits into a node's future idle resources."""
        return fits_later(task.request, node, self._coming.get(node.name))


def _asked(plugins: Iterable[Plugin], what: str) -> tuple[str, ...]:
    return tuple(plugin.name for plugin in plugins if plugin.name in ("priority", "gang") and plugin.does(what))
