"""The state of one cycle: the snapshot opened, with what was decided so far.

Source: pkg/scheduler/framework/session.go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from apportion_runtime.core.job import Job
from apportion_runtime.core.job_order import JobOrder
from apportion_runtime.core.node_ranking import NodeRankings
from apportion_runtime.core.nodes import Indices, NodeTable
from apportion_runtime.core.pending_classes import PendingClasses
from apportion_runtime.core.plugins.dra import Claims
from apportion_runtime.core.plugins.gpu_choice import last_new_group
from apportion_runtime.core.plugins.numa import NumaZones
from apportion_runtime.core.plugins.predicates import Predicates
from apportion_runtime.core.plugins.topology import Part, TopologyTrees
from apportion_runtime.core.queue_jobs import ActiveJobs, QueueJobs, in_order
from apportion_runtime.core.queue_usage import usage_by_queue
from apportion_runtime.core.reasons import Reasons
from apportion_runtime.core.resources import GpuRequest, ResourceIndex
from apportion_runtime.core.search_limit import SearchLimit
from apportion_runtime.core.shared_gpus import DEFAULT_GPU_MEMORY
from apportion_runtime.core.shares import Shares
from apportion_runtime.core.snapshot import Pod, PodGroup, Settings, Snapshot
from apportion_runtime.core.statement import EvictionSet, Statement
from apportion_runtime.core.status import ACTIVE_USED_STATUSES, RELEASING
from apportion_runtime.core.sub_groups import PodSet
from apportion_runtime.core.task import NO_NODE, REGULAR, Shape, Task, shape_of

_MOST_RECENT = 1_000


@dataclass(slots=True)
class Decisions:
    """The decisions of a cycle so far, in order.

    Attributes:
        binds: Pods that are bound.
        pipelines: Pods that wait for resources being released.
        evictions: Evicted pods, their nodes and the reasons: each pod once, with the latest reason.
        eviction_sets: What the evictions change in the queues.
        moved: Pods evicted from one node and pipelined to another: they count on both.
    """

    binds: list[Task] = field(default_factory=list)
    pipelines: list[Task] = field(default_factory=list)
    evictions: list[tuple[Task, int, object]] = field(default_factory=list)
    eviction_sets: list[EvictionSet] = field(default_factory=list)
    moved: set[str] = field(default_factory=set)
    _evicted: dict[str, int] = field(default_factory=dict)

    def evict(self, task: Task, node: int, why: object) -> None:
        """Record an eviction."""
        at = self._evicted.setdefault(task.uid, len(self.evictions))
        # A pod that was to move and is evicted again leaves the node where it runs, not the one it waits for.
        self.evictions[at : at + 1] = [(task, self.evictions[at][1] if at < len(self.evictions) else node, why)]


class Session:
    """A snapshot opened for scheduling."""

    def __init__(self, snapshot: Snapshot, settings: Settings) -> None:
        self._snapshot: Snapshot | Callable[[], Snapshot] = snapshot
        self.now = snapshot.now
        self.settings = settings
        self.plugins = settings.plugins
        self.resources = ResourceIndex()
        self.resources.add(dict.fromkeys(chain.from_iterable(pod.request for pod in snapshot.pods)))
        self.resources.add(name for pod in snapshot.pods for name, _ in pod.gpu.mig)
        for node in snapshot.nodes:
            self.resources.add(node.allocatable)
        self.nodes = NodeTable(snapshot.nodes, self.resources)
        self.claims = Claims(self)
        self.jobs: dict[str, Job] = {}
        # Whether a job has a start time in the future.
        self.starts_later = any(
            group.last_start is not None and group.last_start > snapshot.now for group in snapshot.pod_groups
        )
        self.queue_jobs: dict[str, QueueJobs] = {}
        # The queues of jobs that do not exist, among the first of `queue_jobs`.
        self._missing_queues: list[str] = []
        self._n_queues_seen = 0
        self.active_jobs = ActiveJobs()
        self.pending_classes = PendingClasses()
        self._shapes: dict[object, Shape] = {}
        # By the id of the request, which pods that are read with the same request share.
        self._recent_shapes: dict[int, tuple[Mapping[str, float], GpuRequest, Shape]] = {}
        self._open_jobs(snapshot)
        memories = [int(m) for m in self.nodes.gpu_memory if m > DEFAULT_GPU_MEMORY]
        self.min_device_memory = min(memories, default=settings.default_device_memory)
        self.max_device_memory = max(memories, default=settings.default_device_memory)
        self.shares = Shares(snapshot.queues)
        self.keeps_shares = "proportion" in self.plugins
        self.shares.set_total(self.nodes, self.others)
        self.shares.recount(*usage_by_queue(self.jobs.values(), self.min_device_memory))
        self.shares.divide(settings.k_value)
        self.topologies = TopologyTrees(snapshot.topologies, self.nodes)
        self.predicates = Predicates(self)
        self.numa = NumaZones(self)
        self.rankings = NodeRankings(self)
        # Orders of jobs that searches fill repeatedly; their queues are reused.
        self.placing = JobOrder(self.shares, self.plugins, self.min_device_memory)
        self.victims = JobOrder(self.shares, self.plugins, self.min_device_memory, victims=True)
        self.decided = Decisions()
        self.reasons = Reasons(self)
        self.n_groups = last_new_group(snapshot.pods)
        self.search_limit: SearchLimit | None = None

    @property
    def snapshot(self) -> Snapshot:
        """The records the session was opened on; a kept session collects them on first use."""
        if not isinstance(self._snapshot, Snapshot):
            self._snapshot = self._snapshot()
        return self._snapshot

    @property
    def n_distinct(self) -> int:
        """The number of distinct requests, constraints and queues, also those of pods and jobs that are gone."""
        return len(self._shapes) + self.predicates.n_masks + len(self.queue_jobs)

    def begin_cycle(self, now: float, snapshot: Callable[[], Snapshot]) -> None:
        """Move the session to another moment and other records."""
        self.now, self._snapshot = now, snapshot
        self.predicates.begin_cycle()

    def release(self) -> None:
        """Drop all parts. They refer to each other, and would otherwise be kept until a full garbage collection."""
        for job in self.jobs.values():
            job.on_change = None
        vars(self).clear()

    def protect(self, jobs: Collection[str]) -> None:
        """Exclude jobs from the victims of this cycle: their eviction was refused."""
        for queue_jobs in self.queue_jobs.values():
            queue_jobs.protect(jobs)

    def jobs_without_queue(self) -> Iterator[Job]:
        """Yield the jobs whose queue does not exist."""
        if self._n_queues_seen != len(self.queue_jobs):
            # Neither queues nor the queues of jobs are removed from a session.
            self._missing_queues = [queue for queue in self.queue_jobs if queue not in self.shares.queues]
            self._n_queues_seen = len(self.queue_jobs)
        for queue in self._missing_queues:
            yield from self.queue_jobs[queue].jobs.values()

    def _open_jobs(self, snapshot: Snapshot) -> None:
        by_group: dict[str, list[Task]] = {group.uid: [] for group in snapshot.pod_groups}
        self.others: list[tuple[Pod, tuple[float, float, float]]] = []
        here: list[Task] = []
        for pod in snapshot.pods:
            task = self.open_task(pod)
            if pod.group in by_group:
                by_group[pod.group].append(task)
            if pod.scheduler != self.settings.scheduler_name:
                self.others.append((pod, task.quantities))
            if task.node != NO_NODE and task.status & ACTIVE_USED_STATUSES:
                here.append(task)
        self.nodes.add_all(sorted(here, key=lambda task: task.uid))
        for number, group in enumerate(snapshot.pod_groups):
            self.open_job(group, by_group[group.uid], number)

    def open_task(self, pod: Pod) -> Task:
        """Return a pod with its recorded status; no node is charged for it."""
        recent = self._recent_shapes.get(id(pod.request))
        if recent is not None and recent[0] is pod.request and recent[1] is pod.gpu:
            return self._task_of(pod, recent[2])
        key = (tuple(sorted(pod.request.items())), pod.gpu)
        known = self._shapes.get(key)
        if known is None:
            vector = self.resources.vector(pod.request)
            vector[2] = pod.gpu.gpus + pod.gpu.dra
            for name, count in pod.gpu.mig:
                place = self.resources.get(name)
                # A MIG instance requested only in an annotation counts for nothing if no container requests one.
                if place >= 0 and pod.request.get(name) != 0:
                    vector[place] = count
            known = self._shapes[key] = shape_of(len(self._shapes), pod.gpu, vector, self.resources)
            whole = vector % 1 == 0
            # A fraction of a device is charged only to that device.
            whole[2] |= pod.gpu.portion < 1
            self.nodes.is_whole = self.nodes.is_whole and bool(whole.all())
        if len(self._recent_shapes) >= _MOST_RECENT:
            self._recent_shapes.clear()
        self._recent_shapes[id(pod.request)] = pod.request, pod.gpu, known
        return self._task_of(pod, known)

    def _task_of(self, pod: Pod, shape: Shape) -> Task:
        task = Task(pod, shape, self.plugins)
        if pod.claims:
            self.claims.open_task(task)
        if pod.node is not None:
            task.node = self.nodes.index.get(pod.node, NO_NODE)
        if task.status & ACTIVE_USED_STATUSES:
            if task.node == NO_NODE:
                task.clear_charge()
            elif task.kind != REGULAR:
                # Its queue is charged with what the node accepts, also if the node is not charged before the next decision.
                self.nodes.accept(task, task.node)
        return task

    def open_job(self, group: PodGroup, tasks: Iterable[Task], number: int) -> Job:
        """Add a pod group with its pods at its place in the session's order, or replace it."""
        job = self.jobs[group.uid] = Job(group, tasks, self.resources)
        job.number = number
        queue_jobs = self.queue_jobs.get(job.queue)
        if queue_jobs is None:
            queue_jobs = self.queue_jobs[job.queue] = QueueJobs(job.queue, self.plugins, self.active_jobs)
        queue_jobs.put(job)
        return job

    def statement(self) -> Statement:
        """Begin a list of operations."""
        return Statement(self)

    def node_sets(
        self, job: Job, part: Part, pod_sets: Mapping[str, PodSet], tasks: list[Task], nodes: Indices, *, record: bool
    ) -> Sequence[Indices]:
        """Return the sets of nodes to try for a part of a job, in order; `record` why there are none."""
        if "topology" not in self.plugins:
            return (nodes,)
        found = self.topologies.subsets(job, part, pod_sets, tasks, nodes, record=record)
        return (nodes,) if found is None else found

    def on_allocate(self, task: Task) -> None:
        """Charge a pod's queue."""
        if self.keeps_shares:
            self.shares.charge(self.jobs[task.job], task, 1)
        self.numa.charge(task, 1)
        self.claims.allocate(task)

    def on_deallocate(self, task: Task) -> None:
        """Release a pod's charge from its queue."""
        if self.keeps_shares:
            self.shares.charge(self.jobs[task.job], task, -1)
        self.numa.charge(task, -1)
        self.claims.deallocate(task)

    def evict(self, task: Task, why: object) -> None:
        """Evict a pod outside any statement."""
        node = task.node
        self.jobs[task.job].update_status(task, RELEASING)
        if node != NO_NODE:
            self.nodes.update(task, node)
        self.on_deallocate(task)
        self.decide_evict(task, node, why)

    def decide_bind(self, task: Task) -> None:
        """Record a bind."""
        self.decided.binds.append(task)

    def decide_pipeline(self, task: Task, before: int) -> None:
        """Record a pipelined pod, and the node where it ran before."""
        self.decided.pipelines.append(task)
        if before not in (NO_NODE, task.node):
            self.decided.moved.add(task.uid)

    def decide_evict(self, task: Task, node: int, why: object) -> None:
        """Record an eviction."""
        self.decided.evict(task, node, why)

    def pending_jobs(self) -> list[Job]:
        """Return the jobs with pending pods, in order."""
        return in_order(self.active_jobs.pending.values())

    def jobs_of_cycle(self) -> list[Job]:
        """Return the jobs that are pending or changed since the cycle began, in order: only these have fit errors."""
        return in_order({job.uid: job for job in (*self.active_jobs.changed.values(), *self.pending_jobs())}.values())

    def ready_jobs(self, *, preemptible_only: bool = False, may_evict: bool = False) -> Iterable[Job]:
        """Yield jobs with pending pods, and enough of them to start."""
        now = self.now
        for job in self.pending_jobs():
            if not job.is_ready:
                continue
            if preemptible_only and not job.preemptible:
                continue
            if may_evict and job.within_preemption_delay(now):
                if self.shares.holds_jobs_of(job.queue):
                    self.reasons.delayed(job)
                continue
            yield job
