"""A pod group in a session: its tree of sub-groups, and which pods are next to be placed or evicted.

Source: pkg/scheduler/api/podgroup_info (job_info.go, allocation_info.go, eviction_info.go, subgroup_info/).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter

import numpy as np

from apportion_runtime.core.explain.fit_errors import JobFitError, TaskFitErrors
from apportion_runtime.core.resources import GPU, Quantities, ResourceIndex, Vector
from apportion_runtime.core.snapshot import Pod, PodGroup
from apportion_runtime.core.status import (
    ACTIVE_ALLOCATED_STATUSES,
    ALLOCATED_STATUSES,
    BINDING,
    PENDING,
    PIPELINED,
    RUNNING,
    SUCCEEDED,
)
from apportion_runtime.core.sub_groups import Member, PodSet, SubGroupSet, copied, order_members, tree
from apportion_runtime.core.task import BY_MEMORY, Task

JobKey = tuple[int, int, float, str]
_TASK_ORDER = attrgetter("order")
_MOST_DEFERRED = 256
"""Changes of statuses after which what a job holds is summed up."""
_CONSTANT_GROUP_VALUES = attrgetter(
    "uid", "name", "namespace", "queue", "priority", "preemptible", "created", "preemption_delay", "staleness_grace"
)


class Job:
    """A pod group in a session, or a view of one with some of its pods (`view`)."""

    __slots__ = (
        "_allocated",
        "_allocated_quantities",
        "_allocated_since",
        "_init_request",
        "_init_vector",
        "_is_ready",
        "_order_key",
        "_to_allocate",
        "asked",
        "constraints",
        "counts",
        "created",
        "fit_errors",
        "group",
        "index",
        "is_flat",
        "last_eviction",
        "last_start",
        "n_active_allocated",
        "n_counted",
        "name",
        "number",
        "on_change",
        "pod_sets",
        "preemptible",
        "priority",
        "queue",
        "root",
        "stale_since",
        "task_errors",
        "tasks",
        "uid",
    )

    def __init__(self, group: PodGroup, tasks: Iterable[Task], index: ResourceIndex) -> None:
        self.group = group
        self.index = index
        # Its index in the session's order, and the callback of its queue for changes of status.
        self.number = 0
        self.on_change: Callable[[Job], None] | None = None
        self.uid, self.name, self.queue = group.uid, group.name, group.queue
        self.priority, self.preemptible, self.created = group.priority, group.preemptible, group.created
        self.last_start, self.last_eviction, self.stale_since = group.last_start, group.last_eviction, group.stale_since
        root = tree(group.root)
        if isinstance(root, PodSet):
            root, only = SubGroupSet("", None, root.constraint), root
            only.constraint = None
            root.add(only)
        self._fill(root, tasks)

    def _fill(self, root: SubGroupSet, tasks: Iterable[Task]) -> None:
        self.root = root
        self.is_flat = root.is_flat
        self.pod_sets = {pod_set.name: pod_set for pod_set in root.pod_sets()}
        self.tasks: dict[str, Task] = {}
        self.counts: dict[int, int] = {}
        # Pods that hold resources and are not being released; the second as the engine counts, see `Statement.evict`.
        self.n_active_allocated = self.n_counted = 0
        # A sum, and the requests added to it (True) or subtracted from it since.
        self._allocated: Vector | None = None
        self._allocated_since: list[tuple[Vector, bool]] = []
        # Kept here by `solver.failure_cache`.
        self.constraints: object = None
        self.fit_errors: list[JobFitError] = []
        self.task_errors: dict[str, TaskFitErrors] = {}
        for task in tasks:
            pod_set = self.pod_sets.get(task.pod_set)
            if pod_set is None:
                self.task_errors[task.uid] = TaskFitErrors(
                    f'Pod references subgroup "{task.pod_set}", which does not exist in PodGroup '
                    f"{self.group.namespace}/{self.name}"
                )
                continue
            pod_set.tasks[task.uid] = task
            pod_set.count(task.status, 1)
            self.tasks[task.uid] = task
            self.counts[task.status] = self.counts.get(task.status, 0) + 1
            if task.status & ACTIVE_ALLOCATED_STATUSES:
                self.n_active_allocated += 1
                self.n_counted += 1
            if task.status & ALLOCATED_STATUSES:
                self._allocated_since.append((task.request, True))
        self.invalidate()

    def invalidate(self) -> None:
        """Invalidate the values derived from the status of its pods."""
        self._to_allocate: list[Task] | None = None
        self._init_vector: Vector | None = None
        self._init_request: Quantities | None = None
        self._is_ready: bool | None = None
        # Kept here by `solver.failure_cache`.
        self.asked: list[tuple[float, ...]] | None = None
        self._order_key: JobKey | None = None
        self._allocated_quantities: Quantities | None = None

    def confirm_binds(self, group: PodGroup, pods: Mapping[str, Pod], nodes: Sequence[str]) -> bool:
        """Take over the records of a job whose pods run where they were bound; return whether they do.

        The job is then as if opened anew from its records.
        """
        tasks = self.tasks
        if not tasks or len(pods) != len(tasks) or not _differ_in_times(group, self.group):
            return False
        for task, (uid, pod) in zip(tasks.values(), pods.items(), strict=True):
            if task.uid != uid or not task.is_bound_as_decided(pod, nodes):
                return False
        self.group = group
        self.last_start, self.last_eviction, self.stale_since = group.last_start, group.last_eviction, group.stale_since
        self._allocated = None
        self._allocated_since = [(task.request, True) for task in tasks.values()]
        for task, pod in zip(tasks.values(), pods.values(), strict=True):
            task.pod, task.status, task.is_virtual = pod, pod.status, False
            pod_set = self.pod_sets[task.pod_set]
            pod_set.count(BINDING, -1)
            pod_set.count(task.status, 1)
        self.counts = {RUNNING: len(tasks)}
        self.n_active_allocated = self.n_counted = len(tasks)
        self.constraints, self.fit_errors, self.task_errors = None, [], {}
        self.invalidate()
        if self.on_change is not None:
            self.on_change(self)
        return True

    def view(self, tasks: Iterable[Task]) -> Job:
        """Return a view of the job with some of its pods, and with the current counts."""
        made = Job.__new__(Job)
        made.group, made.index, made.number = self.group, self.index, self.number
        made.on_change = None
        made.uid, made.name, made.queue = self.uid, self.name, self.queue
        made.priority, made.preemptible, made.created = self.priority, self.preemptible, self.created
        # KAI's clone carries no times: they are read from the job itself.
        made.last_start = made.last_eviction = made.stale_since = None
        root = copied(self.root)
        assert isinstance(root, SubGroupSet)
        made._fill(root, tasks)  # noqa: SLF001 - of the same class.
        return made

    def forget_notes(self) -> None:
        """Clear the fit errors, except those of pods whose sub-group does not exist."""
        if self.fit_errors:
            self.fit_errors = []
        if self.task_errors:
            self.task_errors = {uid: errors for uid, errors in self.task_errors.items() if uid not in self.tasks}

    def update_status(self, task: Task, status: int) -> None:
        """Change the status of a pod."""
        self.update_statuses((task,), status)

    def update_statuses(self, tasks: Iterable[Task], status: int) -> None:
        """Change the status of pods."""
        for task in tasks:
            self._set_status(task, status)
        if len(self._allocated_since) > _MOST_DEFERRED:
            self._sum_up()
        self.invalidate()
        if self.on_change is not None:
            self.on_change(self)

    def _set_status(self, task: Task, status: int) -> None:
        old = task.status
        if not (old & ACTIVE_ALLOCATED_STATUSES and status & ACTIVE_ALLOCATED_STATUSES):
            pod_set = self.pod_sets[task.pod_set]
            pod_set.count(old, -1)
            pod_set.count(status, 1)
            more = bool(status & ACTIVE_ALLOCATED_STATUSES) - bool(old & ACTIVE_ALLOCATED_STATUSES)
            self.n_active_allocated += more
            self.n_counted += more
        self.counts[old] -= 1
        self.counts[status] = self.counts.get(status, 0) + 1
        if old & ALLOCATED_STATUSES:
            if not status & ALLOCATED_STATUSES:
                self._allocated_since.append((task.request, False))
        elif status & ALLOCATED_STATUSES:
            self._allocated_since.append((task.request, True))
        task.status = status

    def order_key(self, plugins: frozenset[str]) -> JobKey:
        """Return the key that orders the jobs of a queue: the smaller comes first.

        Cached until a status changes: the plugins of a session do not change.
        """
        if self._order_key is None:
            priority = -self.priority if "priority" in plugins else 0
            state = self._elastic_state() if "elastic" in plugins else 0
            self._order_key = (priority, state, self.created, self.uid)
        return self._order_key

    def _elastic_state(self) -> int:
        """Return 0 if a pod set is below its minimum, 2 if one is above it, otherwise 1."""
        state = 1
        for pod_set in self.pod_sets.values():
            if pod_set.n_allocated < pod_set.min_available:
                return 0
            if pod_set.n_allocated > pod_set.min_available:
                state = 2
        return state

    @property
    def allocated_quantities(self) -> Quantities:
        """The requests of its placed pods, as charged to queues."""
        if self._allocated_quantities is None:
            self._allocated_quantities = self.index.quantities(self._sum_up())
        return self._allocated_quantities

    def _sum_up(self) -> Vector:
        """Return the requests of its placed pods, added one by one as their statuses changed."""
        total = np.zeros(len(self.index)) if self._allocated is None else self._allocated
        for request, is_added in self._allocated_since:
            total = total + request if is_added else total - request
        self._allocated, self._allocated_since = total, []
        return total

    @property
    def is_ready(self) -> bool:
        """Whether enough pods exist that may start."""
        if self._is_ready is None:
            self._is_ready = self.root.is_ready
        return self._is_ready

    @property
    def n_pending(self) -> int:
        """Pending pods."""
        return self.counts.get(PENDING, 0)

    @property
    def n_active_used(self) -> int:
        """Placed pods, including releasing ones."""
        return sum(pod_set.n_used for pod_set in self.pod_sets.values())

    @property
    def n_allocated(self) -> int:
        """Pods that are bound or being bound."""
        return sum(n for status, n in self.counts.items() if status & ALLOCATED_STATUSES)

    @property
    def is_elastic(self) -> bool:
        """Whether any part has more pods than it needs."""
        return any(pod_set.min_available < len(pod_set.tasks) for pod_set in self.pod_sets.values())

    @property
    def has_new_times(self) -> bool:
        """Whether the session changed a time that its pod group records."""
        recorded = self.group.last_start, self.group.last_eviction, self.group.stale_since
        return (self.last_start, self.last_eviction, self.stale_since) != recorded

    @property
    def is_gang_satisfied(self) -> bool:
        """Whether every pod set has its minimum; KAI checks all of them, regardless of the minimum of a group."""
        return all(pod_set.n_used >= pod_set.min_available for pod_set in self.pod_sets.values())

    @property
    def is_stale(self) -> bool:
        """Whether the job runs with fewer pods than its minimum."""
        return not self.counts.get(SUCCEEDED) and self.n_active_used > 0 and not self.is_gang_satisfied

    def should_pipeline(self) -> bool:
        """Return whether a pod set has pipelined pods, and fewer pods placed otherwise than it needs."""
        for pod_set in self.pod_sets.values():
            waiting = sum(task.status == PIPELINED for task in pod_set.tasks.values())
            if waiting:
                placed = sum(bool(task.status & ACTIVE_ALLOCATED_STATUSES) for task in pod_set.tasks.values()) - waiting
                if placed < pod_set.min_available:
                    return True
        return False

    def within_preemption_delay(self, now: float) -> bool:
        """Return whether the job is within its preemption delay."""
        delay = self.group.preemption_delay
        if delay is None or delay <= 0:
            return False
        since = self.created if self.last_eviction is None else max(self.created, self.last_eviction)
        return now < since + delay

    def tasks_to_allocate(self, *, real: bool) -> list[Task]:
        """Return the pods of the next step: those that satisfy a minimum, or one more.

        Kept until a status changes, regardless of the caller that computed it first, as in the engine.
        """
        if self._to_allocate is None:
            self._to_allocate = _next_to_allocate(self.root, real=real)
        return self._to_allocate

    def init_vector(self, device_memory: int | None) -> Vector:
        """Return the request of the next step; GPU memory counts in devices of the smallest memory in the cluster."""
        if self._init_vector is None:
            total = np.zeros(len(self.index))
            for task in self.tasks_to_allocate(real=False):
                if task.to_allocate(real=False):
                    total += task.request
                    if task.kind == BY_MEMORY:
                        total[GPU] += task.gpu.memory_as_gpus(device_memory)
            self._init_vector = total
        return self._init_vector

    def init_request(self, device_memory: int | None) -> Quantities:
        """Return the request of the next step as charged to queues."""
        if self._init_request is None:
            self._init_request = self.index.quantities(self.init_vector(device_memory))
        return self._init_request


def _differ_in_times(one: PodGroup, other: PodGroup) -> bool:
    """Return whether two records of a pod group differ at most in the times that the scheduler sets."""
    return one.root is other.root and bool(_CONSTANT_GROUP_VALUES(one) == _CONSTANT_GROUP_VALUES(other))


def _next_to_allocate(group: SubGroupSet, *, real: bool) -> list[Task]:
    members = order_members(group.members())
    if not group.is_satisfied:
        # The first members in order, as many as are needed; those already satisfied contribute nothing.
        tasks: list[Task] = []
        for member in members[: group.threshold]:
            if not member.is_satisfied:
                tasks += _of_member(member, real=real)
        return tasks
    for member in members:
        found = _of_member(member, real=real)
        if found:
            return found
    return []


def _of_member(member: Member, *, real: bool) -> list[Task]:
    if isinstance(member, SubGroupSet):
        return _next_to_allocate(member, real=real)
    waiting = [task for task in member.tasks.values() if task.to_allocate(real=real)]
    if not waiting:
        return []
    wanted = member.min_available - member.n_allocated
    return sorted(waiting, key=_TASK_ORDER)[: wanted if wanted > 0 else 1]
