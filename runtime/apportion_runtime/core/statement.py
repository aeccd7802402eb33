"""A statement: evictions, pipelined and allocated pods that are committed, rolled back or discarded together.

Source: pkg/scheduler/framework/statement.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from apportion_runtime.core.resources import NO_QUANTITIES, Quantities, accounted, minus
from apportion_runtime.core.snapshot import Allocation
from apportion_runtime.core.status import ALLOCATED, BINDING, PENDING, PIPELINED, RELEASING
from apportion_runtime.core.task import NO_NODE, Task

if TYPE_CHECKING:
    from apportion_runtime.core.job import Job
    from apportion_runtime.core.session import Session


@dataclass(frozen=True, slots=True)
class EvictionSet:
    """Evictions committed together: the action and job they are for, the pods, and the allocations of the queues.

    `before` and `after` hold every queue concerned and its ancestors: cpu (millicores), memory (bytes), gpu (devices).
    """

    why: object
    evicted: tuple[str, ...]
    before: Mapping[str, Quantities]
    after: Mapping[str, Quantities]


_EVICT, _UNEVICT, _PIPELINE, _ALLOCATE = range(4)


@dataclass(slots=True, eq=False)
class _Operation:
    """An operation on a task, with the state before it.

    `void` marks an eviction that was undone, `again` one of a pod that was evicted already.
    """

    kind: int
    task: Task
    status: int
    node: int
    groups: tuple[str, ...]
    is_virtual: bool
    numa: tuple[tuple[int, tuple[float, ...]], ...] = ()
    claims: dict[str, Allocation | None] = field(default_factory=dict)
    why: object = None
    charged: Quantities = NO_QUANTITIES
    of: _Operation | None = None
    void: bool = False
    again: bool = False


class Statement:
    """A list of operations, each applied to the session at once."""

    __slots__ = ("_operations", "_session")

    def __init__(self, session: Session) -> None:
        self._session = session
        self._operations: list[_Operation] = []

    def checkpoint(self) -> int:
        """Return a mark to roll back to."""
        return len(self._operations)

    def rollback(self, mark: int) -> None:
        """Undo the operations after a mark."""
        operations = self._operations
        for operation in reversed(operations[mark:]):
            self._undo(operation)
        del operations[mark:]

    def discard(self) -> None:
        """Undo all operations."""
        self.rollback(0)

    def evict(self, task: Task, why: object = None) -> None:
        """Evict a pod.

        A search may list a victim several times, once for each batch that contains it. The engine then evicts several
        copies of the pod: its queue is charged less each time, and its job counts one pod less each time, where another
        pod of the job is left with the status that the pod had.
        """
        again = task.status == RELEASING
        if again:
            self._count_out_again(task)
        before = _Operation(
            _EVICT,
            task,
            task.status,
            task.node,
            task.gpu_groups,
            task.is_virtual,
            task.numa,
            task.claims,
            why,
            task.accepted_quantities,
            again=again,
        )
        self._release(task)
        self._operations.append(before)

    def _count_out_again(self, task: Task) -> None:
        job = self._session.jobs[task.job]
        first = next((o for o in self._operations if o.kind == _EVICT and o.task is task), None)
        if first is not None and job.counts.get(first.status):
            job.n_counted -= 1

    def _release(self, task: Task) -> None:
        session = self._session
        session.jobs[task.job].update_status(task, RELEASING)
        session.nodes.update(task, task.node)
        session.on_deallocate(task)
        task.is_virtual = True

    def pipeline(self, task: Task, node: int, *, update_if_there: bool) -> None:
        """Pipeline a pod on resources that are being released on a node.

        The eviction of a pod from that very node is undone instead, unless the pod moves to another device of the node or
        `update_if_there` is set.
        """
        session = self._session
        entry = session.nodes.entries[node].get(task.uid)
        moves = bool(
            entry is not None and task.gpu_groups and task.received_fraction and task.gpu_groups != entry.groups
        )
        realigned = bool(entry is not None and task.numa and task.numa != entry.numa)
        if entry is not None and not update_if_there and not moves and not realigned:
            if entry.groups:
                task.gpu_groups = entry.groups
            task.numa = entry.numa
            self._unevict(task)
            return
        before = _Operation(
            _PIPELINE, task, task.status, task.node,
            entry.groups if entry is not None and moves else task.gpu_groups, task.is_virtual,
            entry.numa if entry is not None and realigned else task.numa, task.claims,
        )  # fmt: skip
        session.jobs[task.job].update_status(task, PIPELINED)
        task.node = node
        if moves:
            session.nodes.add(task, node, elsewhere=True)
        elif entry is not None:
            session.nodes.update(task, node)
        else:
            session.nodes.add(task, node)
        session.on_allocate(task)
        self._operations.append(before)
        task.is_virtual = True

    def allocate(self, task: Task, node: int) -> None:
        """Allocate a pod on a node."""
        session = self._session
        before = _Operation(_ALLOCATE, task, task.status, task.node, task.gpu_groups, task.is_virtual, task.numa)
        session.jobs[task.job].update_status(task, ALLOCATED)
        task.node = node
        session.nodes.add(task, node)
        session.on_allocate(task)
        self._operations.append(before)
        task.is_virtual = True

    def note_allocated(self, job: Job, placed: Sequence[tuple[Task, int]]) -> None:
        """Record pods of a job that were charged to their nodes and queue."""
        self._operations += [
            _Operation(_ALLOCATE, task, task.status, task.node, task.gpu_groups, task.is_virtual, task.numa)
            for task, _ in placed
        ]
        job.update_statuses([task for task, _ in placed], ALLOCATED)
        for task, node in placed:
            task.node, task.is_virtual = node, True

    def pipeline_whole_job(self, job: str) -> None:
        """Pipeline every allocated pod of a job."""
        given = [o for o in self._operations if o.kind == _ALLOCATE and o.task.job == job]
        for operation in given:
            task, node = operation.task, operation.task.node
            self._unallocate(operation)
            task.is_virtual = True
            self.pipeline(task, node, update_if_there=True)
        taken_back = {id(operation) for operation in given}
        self._operations = [o for o in self._operations if id(o) not in taken_back]

    def commit(self) -> None:
        """Commit the operations as decisions of the cycle."""
        session = self._session
        if any(operation.kind == _EVICT and not operation.void for operation in self._operations):
            session.decided.eviction_sets.append(self._eviction_set())
        allocated: dict[str, list[Task]] = {}
        for operation in self._operations:
            kind, task = operation.kind, operation.task
            if kind == _ALLOCATE:
                allocated.setdefault(task.job, []).append(task)
                session.decided.binds.append(task)
            elif kind == _PIPELINE:
                session.decide_pipeline(task, operation.node)
            elif kind == _EVICT and not operation.void:
                task.is_virtual = False
                session.jobs[task.job].last_eviction = session.now
                session.decide_evict(task, operation.node, operation.why)
        for uid, tasks in allocated.items():
            session.jobs[uid].update_statuses(tasks, BINDING)
        self._operations = []

    def _eviction_set(self) -> EvictionSet:
        """Return what the evictions of the statement change in the queues."""
        session = self._session
        evicted: list[str] = []
        changes: dict[str, list[float]] = {}
        why: object = None
        for operation in self._operations:
            task = operation.task
            if operation.void or operation.kind == _UNEVICT:
                continue
            amounts, sign = (operation.charged, -1) if operation.kind == _EVICT else (task.accepted_quantities, 1)
            if operation.kind == _EVICT:
                evicted.append(task.uid)
                why = operation.why
            leaf = session.shares.queues.get(session.jobs[task.job].queue)
            for queue in leaf.path if leaf is not None else ():
                change = changes.setdefault(queue.name, [0.0, 0.0, 0.0])
                for r, amount in enumerate(amounts):
                    change[r] += sign * amount
        after = {name: accounted(session.shares.queues[name].allocated) for name in changes}
        before = {name: minus(after[name], (c[0], c[1], c[2])) for name, c in changes.items()}
        return EvictionSet(why, tuple(evicted), before, after)

    def _unevict(self, task: Task) -> None:
        for operation in self._operations:
            if operation.kind == _EVICT and not operation.void and operation.task is task:
                self._restore(operation)
                operation.void = True
                self._operations.append(
                    _Operation(_UNEVICT, task, task.status, task.node, task.gpu_groups, task.is_virtual, of=operation)
                )
                return

    def _restore(self, operation: _Operation) -> None:
        session, task = self._session, operation.task
        session.jobs[task.job].update_status(task, operation.status)
        task.gpu_groups = operation.groups
        task.numa = operation.numa
        task.is_virtual = operation.is_virtual
        task.claims = operation.claims
        node = operation.node
        if task.uid in session.nodes.entries[node]:
            session.nodes.update(task, node)
        else:
            session.nodes.add(task, node)
        session.on_allocate(task)

    def _undo(self, operation: _Operation) -> None:
        undo: dict[int, Callable[[_Operation], None]] = {
            _EVICT: self._undo_evict,
            _UNEVICT: self._undo_unevict,
            _PIPELINE: self._undo_pipeline,
            _ALLOCATE: self._unallocate,
        }
        undo[operation.kind](operation)

    def _undo_evict(self, operation: _Operation) -> None:
        if not operation.void:
            self._restore(operation)
            if operation.again:
                self._session.jobs[operation.task.job].n_counted += 1

    def _undo_unevict(self, operation: _Operation) -> None:
        assert operation.of is not None
        operation.of.void = False
        self._release(operation.task)

    def _undo_pipeline(self, operation: _Operation) -> None:
        session, task = self._session, operation.task
        session.jobs[task.job].update_status(task, operation.status)
        node = task.node
        task.gpu_groups = operation.groups
        task.claims = operation.claims
        task.is_virtual = operation.is_virtual
        session.nodes.remove(task, node)
        session.on_deallocate(task)
        task.node = operation.node
        task.numa = operation.numa

    def _unallocate(self, operation: _Operation) -> None:
        session, task = self._session, operation.task
        session.jobs[task.job].update_status(task, PENDING)
        session.nodes.remove(task, task.node)
        task.is_virtual = operation.is_virtual
        session.on_deallocate(task)
        task.node = NO_NODE
        task.numa = operation.numa
