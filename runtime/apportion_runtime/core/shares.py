"""The queues of a session, and the capacity they divide: the state of the proportion plugin.

Source: pkg/scheduler/plugins/proportion/proportion.go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import fsum
from operator import add, itemgetter, sub

from apportion_runtime.core.job import Job
from apportion_runtime.core.nodes import NodeTable
from apportion_runtime.core.queue_share import QueueShare
from apportion_runtime.core.queue_usage import NO_AMOUNTS, NO_FRACTIONS, Fraction, NumberedFractions
from apportion_runtime.core.resources import NO_QUANTITIES, UNLIMITED, Quantities
from apportion_runtime.core.sibling_division import SiblingDivision
from apportion_runtime.core.snapshot import Pod, Queue
from apportion_runtime.core.status import ACTIVE_USED_STATUSES
from apportion_runtime.core.task import Task

RESOURCES = ("cpu", "memory", "gpu")
_NUMBER = itemgetter(0)
_Counted = dict[str, tuple[Sequence[float], list[tuple[Fraction, ...]]]]
"""The amounts and fractions of leaves."""


class Shares:
    """Every queue of the session by name, and the capacity they divide.

    Attributes:
        min_runtimes: The distinct minimum runtimes that queues declare, in seconds.
    """

    def __init__(self, queues: Iterable[Queue]) -> None:
        self.queues: dict[str, QueueShare] = {queue.name: QueueShare(queue) for queue in queues}
        self._drop_orphans()
        for queue in self.queues.values():
            if queue.parent:
                self.queues[queue.parent].children.append(queue.name)
        for queue in self.queues.values():
            queue.path = tuple(self._path(queue))
        self.roots = [queue for queue in self.queues.values() if not queue.parent]
        self.total: Quantities = (0.0, 0.0, 0.0)
        # The amounts of the last recount: fair shares change only with them.
        self._counted: _Counted | None = None
        # By the name of the parent; None for the roots.
        self._divisions: dict[str | None, SiblingDivision] = {}
        # The number of calls of `divide`: fair shares change only then.
        self.epoch = 0
        # The capacity that was divided last.
        self._divided_total: tuple[Quantities, float] | None = None
        # Queues whose requests the last recount changed, with their ancestors.
        self._asking: set[str] = set(self.queues)
        # The leaves charged since the last recount.
        self._charged: dict[str, QueueShare] = {}
        # By queue and preemptibility of a job.
        self._bounds: dict[tuple[str, bool], bool] = {}
        # The leaves' totals in the exact sums of the queues, and these sums.
        self._added: dict[str, Sequence[float]] = {}
        self._sums: dict[str, Sequence[float]] = {}
        # The names in `counted` below each queue, in their order.
        self._below: dict[str, list[str]] = {}
        self._changed: dict[str, QueueShare] = dict(self.queues)
        runtimes = ((queue.preempt_min_runtime, queue.reclaim_min_runtime) for queue in self.queues.values())
        self.min_runtimes = frozenset(value for both in runtimes for value in both if value)

    def recount(
        self,
        counted: Mapping[str, Sequence[float]],
        fractions: Mapping[str, Sequence[NumberedFractions]] = NO_FRACTIONS,
        *,
        changed: Collection[str] | None = None,
        is_exact: bool = False,
    ) -> None:
        """Recount allocated and pending requests; queues whose totals did not change keep their shares.

        Args:
            counted: For each leaf with pods: the allocated, the allocated non-preemptible, and the pending CPU, memory
                and whole GPUs.
            fractions: The fractions of GPUs in these leaves.
            changed: The leaves whose totals may have changed since the last recount; None compares all.
            is_exact: Whether sums of the totals are the same in any order, so that only what changed is added.
        """
        known = self._counted
        if is_exact and not fractions and known is not None and self._added and changed is not None and self._below:
            self._recount_changes(counted, changed, known)
            return
        if is_exact:
            self._add_changes(counted, changed if self._added and changed is not None else counted)
        else:
            self._added, self._sums = {}, {}
        outdated = set[str]() if known is not None else set(self.queues)
        for leaf in self._charged.values():
            outdated.update(queue.name for queue in leaf.path)
        self._charged.clear()
        if known is None or changed is None:
            changed, self._below = counted, {}
        known = {} if known is None else known
        is_first = not self._below
        for name in changed:
            path = self.queues[name].path if name in self.queues else ()
            if is_first or name not in known:
                for queue in path:
                    self._below.setdefault(queue.name, []).append(name)
            # The numbers of jobs are those of this cycle.
            total = counted[name], [of_job for _, of_job in fractions.get(name, ())]
            if known.get(name) != total:
                known[name] = total
                outdated.update(queue.name for queue in path)
        self._asking = set()
        for name in outdated:
            queue = self.queues[name]
            before = queue.request
            self._sum_up(queue, counted, fractions, is_exact=is_exact)
            if queue.request != before:
                self._asking.update(above.name for above in queue.path)
        self._counted = known

    def _recount_changes(self, counted: Mapping[str, Sequence[float]], changed: Iterable[str], known: _Counted) -> None:
        """Recount queues whose sums are exact and include no fractions, by what changed since the last recount."""
        outdated = {queue.name: queue for leaf in self._charged.values() for queue in leaf.path}
        self._charged.clear()
        for name in changed:
            leaf, amounts, before = self.queues.get(name), counted[name], known.get(name)
            path = () if leaf is None else leaf.path
            if before is None:
                for queue in path:
                    self._below.setdefault(queue.name, []).append(name)
            self._add_to_path(name, amounts)
            if before is None or before[1] or before[0] != amounts:
                known[name] = amounts, []
                for queue in path:
                    outdated[queue.name] = queue
        asking = self._asking = set()
        for name, queue in outdated.items():
            cpu, memory, gpu, *own, more_cpu, more_memory, more_gpu = self._sums.get(name, NO_AMOUNTS)
            request = [cpu + more_cpu, memory + more_memory, gpu + more_gpu]
            if request != queue.request:
                asking.update([above.name for above in queue.path])
            queue.count(request, [cpu, memory, gpu], own)
            self._changed[name] = queue

    def _add_changes(self, counted: Mapping[str, Sequence[float]], changed: Iterable[str]) -> None:
        """Add the differences of leaves to the sums of the queues above."""
        for name in changed:
            self._add_to_path(name, counted[name])

    def _add_to_path(self, name: str, amounts: Sequence[float]) -> None:
        leaf = self.queues.get(name)
        if leaf is not None:
            more = tuple(map(sub, amounts, self._added.get(name, NO_AMOUNTS)))
            for queue in leaf.path:
                self._sums[queue.name] = list(map(add, self._sums.get(queue.name, NO_AMOUNTS), more))
        self._added[name] = amounts

    def _sum_up(
        self,
        queue: QueueShare,
        counted: Mapping[str, Sequence[float]],
        fractions: Mapping[str, Sequence[NumberedFractions]],
        *,
        is_exact: bool,
    ) -> None:
        """Set a queue's requests and allocations to the sums of the leaves below it."""
        if is_exact:
            cpu, memory, gpu, *own, more_cpu, more_memory, more_gpu = self._sums.get(queue.name, NO_AMOUNTS)
            queue.count([cpu + more_cpu, memory + more_memory, gpu + more_gpu], [cpu, memory, gpu], own)
        else:
            queue.count(*self._sums_in_order(queue, counted))
        if fractions:
            below = [each for leaf in self._below.get(queue.name, ()) for each in fractions.get(leaf, ())]
            # In the session's order.
            queue.add_fractions(sorted(below, key=_NUMBER))
        self._changed[queue.name] = queue

    def _sums_in_order(
        self, queue: QueueShare, counted: Mapping[str, Sequence[float]]
    ) -> tuple[list[float], list[float], list[float]]:
        """Return the requests, allocations and non-preemptible allocations of the leaves below a queue."""
        cpu = memory = gpu = held_cpu = held_memory = held_gpu = own_cpu = own_memory = own_gpu = 0.0
        for leaf in self._below.get(queue.name, ()):
            amounts = counted[leaf]
            cpu, memory, gpu = (
                cpu + amounts[0] + amounts[6],
                memory + amounts[1] + amounts[7],
                gpu + amounts[2] + amounts[8],
            )
            held_cpu, held_memory, held_gpu = held_cpu + amounts[0], held_memory + amounts[1], held_gpu + amounts[2]
            own_cpu, own_memory, own_gpu = own_cpu + amounts[3], own_memory + amounts[4], own_gpu + amounts[5]
        return [cpu, memory, gpu], [held_cpu, held_memory, held_gpu], [own_cpu, own_memory, own_gpu]

    def _drop_orphans(self) -> None:
        """Drop queues without an existing ancestor path, with everything below them."""
        while True:
            orphans = [q.name for q in self.queues.values() if q.parent and q.parent not in self.queues]
            if not orphans:
                break
            for name in orphans:
                del self.queues[name]
        rooted: set[str] = set()
        for queue in self.queues.values():
            seen: list[str] = []
            at: QueueShare | None = queue
            while at is not None and at.name not in rooted and at.name not in seen:
                seen.append(at.name)
                at = self.queues[at.parent] if at.parent else None
            if at is None or at.name in rooted:
                rooted.update(seen)
        for name in [name for name in self.queues if name not in rooted]:
            del self.queues[name]

    def _path(self, queue: QueueShare) -> Iterable[QueueShare]:
        at: QueueShare | None = queue
        while at is not None:
            yield at
            at = self.queues[at.parent] if at.parent else None

    def is_bounded(self, job: Job) -> bool:
        """Return whether a limit, or a quota for non-preemptible jobs, may keep pods of a job from being placed."""
        known = self._bounds.get((job.queue, job.preemptible))
        if known is None:
            # Neither limits nor quotas change in a session.
            leaf = self.queues.get(job.queue)
            bounds = (
                [queue.limit if job.preemptible else (*queue.limit, *queue.deserved) for queue in leaf.path]
                if leaf
                else []
            )
            known = self._bounds[job.queue, job.preemptible] = any(
                bound != UNLIMITED for each in bounds for bound in each
            )
        return known

    def holds_jobs_of(self, name: str) -> bool:
        """Return whether a queue exists and is a leaf."""
        queue = self.queues.get(name)
        return queue is not None and queue.is_leaf

    def set_total(self, nodes: NodeTable, others: Iterable[tuple[Pod, Quantities]]) -> None:
        """Sum the resources of ready nodes, without those allocated to pods of other schedulers."""
        sums = nodes.allocatable[nodes.ready].sum(axis=0) if len(nodes) else None
        total = nodes.resources.quantities(sums) if sums is not None else NO_QUANTITIES
        taken: list[Quantities] = []
        for pod, held in others:
            i = nodes.index.get(pod.node or "")
            if i is not None and nodes.ready[i] and pod.status & ACTIVE_USED_STATUSES:
                taken.append(held)
        # The same in any order of the pods.
        cpu, memory, gpu = (fsum((amount, *(-held[r] for held in taken))) for r, amount in enumerate(total))
        self.total = cpu, memory, gpu
        self._counted = None

    def divide(self, k_value: float) -> None:
        """Compute every queue's fair share, from the roots down."""
        self.epoch += 1
        if self._asking or self._divided_total != (self.total, k_value):
            self._divided_total = self.total, k_value
            self._divide(self.total, None, k_value)

    def children_of(self, queue: QueueShare | None) -> list[QueueShare]:
        """Return the children of a queue, or the roots."""
        if queue is None:
            return self.roots
        return [self.queues[child] for child in queue.children]

    def _divide(self, total: Sequence[float], above: QueueShare | None, k_value: float) -> None:
        name = None if above is None else above.name
        division = self._divisions.get(name)
        if division is None:
            division = self._divisions[name] = SiblingDivision(self.children_of(above))
        changed = division.divide(total, k_value, self._asking)
        self._changed.update(changed)
        for queue in division.parents:
            if queue.name in self._asking or queue.name in changed:
                self._divide(queue.fair, queue, k_value)

    def charge(self, job: Job, task: Task, sign: int) -> None:
        """Add a pod to the allocations of its queue and the ancestors, or subtract it with -1."""
        cpu, memory, gpu = task.accepted_quantities
        leaf = self.queues.get(job.queue)
        if leaf is None:
            return
        if sign < 0:
            cpu, memory, gpu = -cpu, -memory, -gpu
        self._charged[leaf.name] = leaf
        for queue in leaf.path:
            queue.version += 1
            numbers = queue.allocated
            numbers[0] += cpu
            numbers[1] += memory
            numbers[2] += gpu
            if not job.preemptible:
                numbers = queue.allocated_np
                numbers[0] += cpu
                numbers[1] += memory
                numbers[2] += gpu

    def charge_alike(self, job: Job, task: Task, n: int) -> None:
        """Add several pods with the same accepted request as one of them."""
        leaf = self.queues.get(job.queue)
        if leaf is None:
            return
        cpu, memory, gpu = task.accepted_quantities
        self._charged[leaf.name] = leaf
        for queue in leaf.path:
            queue.version += n
            for numbers in (queue.allocated,) if job.preemptible else (queue.allocated, queue.allocated_np):
                used_cpu, used_memory, used_gpu = numbers
                for _ in range(n):
                    used_cpu += cpu
                    used_memory += memory
                    used_gpu += gpu
                numbers[:] = used_cpu, used_memory, used_gpu

    def take_changed(self) -> Collection[QueueShare]:
        """Return the queues whose numbers may have changed since the last call, at first all."""
        for leaf in self._charged.values():
            self._changed.update((queue.name, queue) for queue in leaf.path)
        changed, self._changed = self._changed, {}
        return changed.values()

    def frozen(self) -> SharesSnapshot:
        """Return a frozen view of the queues."""
        return SharesSnapshot(self.queues)


class SharesSnapshot(Mapping[str, QueueShare]):
    """The queues at one moment; copied on first access."""

    def __init__(self, queues: Mapping[str, QueueShare]) -> None:
        self._queues = queues
        self._allocated = {name: (list(q.allocated), list(q.allocated_np)) for name, q in queues.items()}
        self._made: dict[str, QueueShare] = {}

    def __getitem__(self, name: str) -> QueueShare:
        found = self._made.get(name)
        if found is None:
            queue = self._queues[name]
            found = self._made[name] = queue.at(*self._allocated[name])
            found.path = (found, *(self[above.name] for above in queue.path[1:]))
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._queues)

    def __len__(self) -> int:
        return len(self._queues)
