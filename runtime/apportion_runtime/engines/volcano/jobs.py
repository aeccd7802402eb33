"""A Volcano job (a pod group with its pods) during a cycle.

Source: pkg/scheduler/api/job_info.go, pkg/scheduler/plugins/gang, pkg/scheduler/plugins/priority,
pkg/scheduler/framework/session.go (getPodGroupPhase).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cmp_to_key

from apportion_api.counted_nouns import counted
from apportion_runtime.engines.kube_scheduler.equivalence import alike_on_nodes
from apportion_runtime.engines.kube_scheduler.nodes import NodeState
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.engines.volcano.amounts import Amounts, exceeding
from apportion_runtime.engines.volcano.group_state import GroupState, Phase
from apportion_runtime.engines.volcano.job_records import JobAmounts, JobShape
from apportion_runtime.snapshots.pod_requests import add


class Status(IntEnum):
    """The status of a pod in a cycle."""

    PENDING = 0
    GATED = 1
    PIPELINED = 2
    ALLOCATED = 3
    RUNNING = 4
    RELEASING = 5


HOLDING = (Status.ALLOCATED, Status.RUNNING)
_HOLDS = tuple(status in HOLDING for status in Status)


@dataclass(slots=True, eq=False)
class Task:
    """A pod in a cycle. `is_evicted` means that a scheduler evicted it before the cycle, and it is still terminating."""

    pod: PodFacts
    job: Job
    status: Status
    node: NodeState | None
    preemptable: bool
    role: str = ""
    is_evicted: bool = False

    def become(self, status: Status) -> None:
        """Set the status; the pods of its node have another version then."""
        self.job.count_out(self)
        self.status = status
        self.job.count_in(self)
        if self.node is not None:
            self.node.version += 1

    @property
    def uid(self) -> str:
        """The pod's id."""
        return self.pod.uid

    @property
    def request(self) -> Amounts:
        """The pod's request."""
        return self.pod.request

    @property
    def queue(self) -> str:
        """The queue of the pod's job."""
        return self.job.queue

    @property
    def is_best_effort(self) -> bool:
        """Whether the pod has no requests (best effort)."""
        return not any(self.pod.request.values())

    def is_before(self, other: Task) -> bool:
        """Return whether the pod comes first: by priority, the number in its name if both have one, age, and id.

        Source: pkg/scheduler/plugins/priority (TaskOrderFn), pkg/controllers/job/helpers (CompareTask).
        """
        if self.pod.priority != other.pod.priority:
            return self.pod.priority > other.pod.priority
        own, its = self._index, other._index
        if own is not None and its is not None and own != its:
            return own < its
        return (self.pod.record.created, self.uid) < (other.pod.record.created, other.uid)

    @property
    def _index(self) -> int | None:
        parts = self.pod.record.name.split("-")
        return int(parts[-1]) if len(parts) >= 3 and parts[-1].isdecimal() else None


def _is_free(task: Task) -> bool:
    return task.status is Status.PENDING and task.is_best_effort


def _compare(one: Task, other: Task) -> int:
    return other.is_before(one) - one.is_before(other)


in_task_order = cmp_to_key(_compare)
"""Key that sorts the pods of a job."""


@dataclass(slots=True, eq=False)
class Job:
    """A pod group with its pods, in a cycle.

    Attributes:
        reasons: Why each pod was not placed in the cycle.
        failed_roles: Why a pod of each role found no node in the cycle.
        counts: The number of pods in each status.
        allocated: The resources of its placed pods.
        has_best_effort: Whether any of its pods has no requests.
        version: The number of changes of its pods.
        number: Its place among the jobs in order of creation.
        is_deleted: Whether its pod group is deleted, although its pods are still terminating.
        watchers: Sets to which the job is added when it changes.
    """

    group: GroupState
    tasks: dict[str, Task] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    failed_roles: dict[str, str] = field(default_factory=dict)
    counts: list[int] = field(default_factory=lambda: [0] * len(Status))
    allocated: dict[str, int] = field(default_factory=dict)
    has_best_effort: bool = False
    version: int = 0
    number: int = 0
    is_deleted: bool = False
    watchers: tuple[dict[Job, None], ...] = ()
    _waiting: tuple[Task, ...] = ()
    _waiting_at: int = -1
    _requesting: tuple[Task, ...] = ()
    _requesting_of: Sequence[Task] = ()
    _shape_of: tuple[Sequence[Task], int, int, JobShape | None] = ((), -1, 0, None)
    _fit_error: str = ""
    _fit_error_of: tuple[object, ...] = ()
    _amounts: JobAmounts | None = None
    _amounts_of: tuple[object, ...] = ()

    def begin_cycle(self) -> None:
        """Forget why pods were not placed in the last cycle."""
        if self.reasons or self.failed_roles:
            self.reasons, self.failed_roles = {}, {}

    def note_change(self) -> None:
        """Notify the watchers of a change."""
        for changed in self.watchers:
            changed[self] = None

    def set_phase(self, phase: Phase) -> None:
        """Set the phase of the pod group."""
        self.group.phase = phase
        self.note_change()

    def add(self, task: Task) -> None:
        """Add a pod."""
        self.tasks[task.uid] = task
        self.count_in(task)
        self.has_best_effort = self.has_best_effort or task.is_best_effort

    def remove(self, task: Task) -> None:
        """Remove a deleted pod."""
        del self.tasks[task.uid]
        self.count_out(task)

    def count_in(self, task: Task) -> None:
        """Count a pod in its status."""
        self.version += 1
        self.note_change()
        self.counts[task.status] += 1
        if _HOLDS[task.status]:
            for name, value in task.request.items():
                self.allocated[name] = self.allocated.get(name, 0) + value

    def count_out(self, task: Task) -> None:
        """Uncount a pod in its status."""
        self.version += 1
        self.note_change()
        self.counts[task.status] -= 1
        if _HOLDS[task.status]:
            for name, value in task.request.items():
                self.allocated[name] -= value

    @property
    def key(self) -> str:
        """The job's key."""
        return self.group.key

    @property
    def queue(self) -> str:
        """The job's queue."""
        return self.group.queue

    @property
    def least(self) -> int:
        """The gang minimum."""
        return self.group.least

    @property
    def n_holding(self) -> int:
        """Placed pods."""
        return self.counts[Status.ALLOCATED] + self.counts[Status.RUNNING]

    @property
    def n_ready(self) -> int:
        """Placed or succeeded pods."""
        return self.n_holding + self.group.n_succeeded

    @property
    def n_waiting(self) -> int:
        """Pipelined pods."""
        return self.counts[Status.PIPELINED]

    @property
    def n_free(self) -> int:
        """Pending best-effort pods, which do not keep the job from being ready."""
        if not self.has_best_effort:
            return 0
        return sum(task.status is Status.PENDING and task.is_best_effort for task in self.tasks.values())

    @property
    def n_lacking(self) -> int:
        """The pods that are neither placed nor pipelined and that the gang minimum needs; negative if there are more."""
        return self.least - self.n_waiting - self.n_ready - self.n_free

    @property
    def is_ready(self) -> bool:
        """Whether the gang minimum is placed."""
        return self.n_ready + self.n_free >= self.least

    @property
    def is_pipelined(self) -> bool:
        """Whether the gang minimum is placed or pipelined."""
        return self.n_lacking <= 0

    @property
    def may_start(self) -> bool:
        """Whether the gang minimum and the minimum of each role are placed, so that its pods are bound."""
        return self.is_ready and self._has_each_role(lambda task: _HOLDS[task.status] or _is_free(task))

    @property
    def may_start_later(self) -> bool:
        """Whether the gang minimum and the minimum of each role are placed or pipelined."""
        return self.is_pipelined and self._has_each_role(
            lambda task: _HOLDS[task.status] or task.status is Status.PIPELINED or _is_free(task)
        )

    @property
    def is_valid(self) -> bool:
        """Whether the job has at least the gang minimum of pods, and that of each role."""
        n_alive = self.counts[Status.PENDING] + self.counts[Status.PIPELINED] + self.n_holding
        return n_alive + self.group.n_succeeded >= self.least and self._has_each_role(
            lambda task: task.status not in (Status.GATED, Status.RELEASING)
        )

    def _has_each_role(self, counts: Callable[[Task], bool]) -> bool:
        """Return whether enough pods of each role count. Succeeded pods, whose role is unknown here, count for all."""
        least = self.group.task_least
        if not least or self.least < sum(least.values()):
            return True
        found = Counter(task.role for task in self.tasks.values() if counts(task))
        return all(found[role] + self.group.n_succeeded >= number for role, number in least.items())

    def may_continue(self) -> bool:
        """Return whether other pods may still start the job after one of the failed roles found no node.

        Source: NeedContinueAllocating.
        """
        if self.least >= len(self.tasks) + self.group.n_succeeded:
            return False
        least = self.group.task_least
        if self.least < sum(least.values()):
            tasks = self.tasks.values()
            n_left = sum(task.status is Status.PENDING and task.role not in self.failed_roles for task in tasks)
            return self.n_ready + n_left >= self.least
        placed = Counter(task.role for task in self.tasks.values() if _HOLDS[task.status] or _is_free(task))
        return all(placed[role] >= least.get(role, 0) for role in self.failed_roles)

    def is_starving(self, by: str) -> bool:
        """Return whether the job is starving, by a plugin's definition."""
        n_has = self.n_waiting + self.n_ready
        return n_has < (self.least if by == "gang" else len(self.tasks) + self.group.n_succeeded)

    @property
    def elastic(self) -> dict[str, int]:
        """The job's elastic resources: those beyond the gang minimum."""
        return exceeding(self.allocated, self.group.least_resources or {})

    def waiting(self) -> Sequence[Task]:
        """Return the pending pods, in order; the same object until the job changes."""
        if not self.counts[Status.PENDING]:
            return ()
        if self._waiting_at != self.version:
            found = [task for task in self.tasks.values() if task.status is Status.PENDING]
            self._waiting, self._waiting_at = tuple(sorted(found, key=in_task_order)), self.version
        return self._waiting

    def requesting(self) -> Sequence[Task]:
        """Return the pending pods with requests, in order; the same object until the job changes."""
        waiting = self.waiting()
        if not self.has_best_effort:
            return waiting
        if self._requesting_of is not waiting:
            self._requesting_of = waiting
            self._requesting = tuple(task for task in waiting if not task.is_best_effort)
        return self._requesting

    def shape(self, tasks: Sequence[Task]) -> JobShape | None:
        """Return what jobs have in common that are all schedulable or all unschedulable; None if other pods matter.

        Args:
            tasks: Pending pods of the job, from one of its methods.
        """
        if self._shape_of[1:3] != (self.version, self.least) or self._shape_of[0] is not tasks:
            shapes = {alike_on_nodes(task.pod) for task in tasks}
            of_pods = shapes.pop() if len(shapes) == 1 else None
            counts = (len(tasks), len(self.tasks), self.least, self.n_ready, self.n_waiting, self.n_free)
            holder = self.key if self.n_holding else ""
            shape = None if of_pods is None else JobShape(self.queue, self.group.priority, of_pods, counts, holder)
            self._shape_of = tasks, self.version, self.least, shape
        return self._shape_of[3]

    def inqueue(self) -> Mapping[str, int]:
        """Return its inqueue resources: the part of its minimum that is not allocated."""
        least = self.group.least_resources
        if least is None or self.group.phase not in (Phase.INQUEUE, Phase.RUNNING):
            return {}
        if self.group.phase is Phase.RUNNING and self.n_holding < self.least:
            return {}
        return exceeding(least, self.allocated)

    def amounts(self) -> JobAmounts:
        """Return what the job adds to its queue; the same object until it changes."""
        group = self.group
        key = (self.version, group.phase, group.least, group.least_resources, group.queue)
        if self._amounts is None or self._amounts_of != key:
            requested: dict[str, int] = {}
            if self.counts[Status.PENDING]:
                for task in self.tasks.values():
                    if task.status is Status.PENDING:
                        add(requested, task.request)
            holds = bool(self.n_holding)
            self._amounts_of = key
            self._amounts = JobAmounts(
                self.queue,
                dict(self.allocated) if holds else {},
                requested,
                self.inqueue(),
                self.elastic if holds else {},
            )
        return self._amounts

    def next_phase(self) -> Phase:
        """Return its phase after a cycle. Pods that the cycle has bound do not count yet (ScheduledStatus)."""
        n_running = self.counts[Status.RUNNING]
        if n_running and not self.is_ready:
            return Phase.UNKNOWN
        if n_running + self.counts[Status.RELEASING] + self.group.n_succeeded >= self.least:
            return Phase.RUNNING
        return Phase.INQUEUE if self.group.phase is Phase.INQUEUE else Phase.PENDING

    def fit_error(self) -> str:
        """Return Volcano's fit error of an unschedulable gang, with each pending pod's reason instead of the first one's."""
        key = (self.version, self.least, self.group.n_succeeded, self.reasons)
        if self._fit_error_of != key:
            # The mapping of reasons may be filled later.
            self._fit_error, self._fit_error_of = self._new_fit_error(), (*key[:3], dict(self.reasons))
        return self._fit_error

    def _new_fit_error(self) -> str:
        statuses: dict[str, int] = {}
        for task in self.tasks.values():
            said_of = task.status.name.capitalize()
            statuses[said_of] = statuses.get(said_of, 0) + 1
        texts = sorted(f"{count} {name}" for name, count in {**statuses, "minAvailable": self.least}.items())
        reasons: dict[str, int] = {}
        for task in self.tasks.values():
            if task.status is Status.PENDING:
                why = self.reasons.get(task.uid, "Undetermined")
                reasons[why] = reasons.get(why, 0) + 1
        detail = "; ".join(sorted(f"{counted(count, 'pod')}: {why}" for why, count in reasons.items()))
        text = f"{self.least - self.n_ready}/{len(self.tasks)} tasks in gang unschedulable: pod group is not ready, "
        return text + ", ".join(texts) + (f"; {detail}" if detail else "")
