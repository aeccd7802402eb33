"""The quota, fair share, allocation and request of each queue: the state of the proportion plugin in a session.

Source: pkg/scheduler/plugins/proportion/proportion.go, resource_share/.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import fsum
from types import MappingProxyType

from apportion_runtime.core.division import Claim, divide
from apportion_runtime.core.job import Job
from apportion_runtime.core.nodes import NodeTable
from apportion_runtime.core.queue_usage import Fraction, NumberedFractions, fractions_in_order
from apportion_runtime.core.resources import GPU, MEMORY, NO_QUANTITIES, UNLIMITED, Quantities, exceeds
from apportion_runtime.core.snapshot import Pod, Queue
from apportion_runtime.core.status import ACTIVE_USED_STATUSES
from apportion_runtime.core.task import Task

RESOURCES = ("cpu", "memory", "gpu")
_NO_SHARE_FACTOR = 1000
"""Weight of usage without any share: it dominates every real share."""
NO_FRACTIONS: Mapping[str, Sequence[NumberedFractions]] = MappingProxyType({})


class QueueShare:
    """A queue's numbers, each a list of cpu (millicores), memory (bytes) and gpu (devices); -1 is unlimited."""

    __slots__ = (
        "_allocatable",
        "allocated",
        "allocated_np",
        "children",
        "created",
        "deserved",
        "fair",
        "keys",
        "keys_version",
        "limit",
        "name",
        "parent",
        "path",
        "preempt_min_runtime",
        "priority",
        "reclaim_min_runtime",
        "request",
        "reset_version",
        "usage",
        "version",
        "victim_held",
        "victim_key",
        "victim_key_version",
        "weight",
    )

    def __init__(self, queue: Queue) -> None:
        self.name, self.parent = queue.name, queue.parent
        self.priority, self.created = queue.priority, queue.created
        self.preempt_min_runtime, self.reclaim_min_runtime = queue.preempt_min_runtime, queue.reclaim_min_runtime
        each = (queue.cpu, queue.memory, queue.gpu)
        self.deserved = [resource.quota for resource in each]
        self.limit = [resource.limit for resource in each]
        for numbers in (self.deserved, self.limit):
            # The engine treats memory below -1 as unlimited, and uses such amounts of cpu and GPUs unchanged.
            numbers[MEMORY] = max(UNLIMITED, numbers[MEMORY])
        self.weight = [resource.weight for resource in each]
        self.usage = list(queue.usage)
        self.children: list[str] = []
        self.path: tuple[QueueShare, ...] = ()
        # Caches derived from the allocations compare this version.
        self.version = self.reset_version = 0
        self.reset()

    def reset(self) -> None:
        """Clear requests, allocations and fair shares."""
        self.request = [0.0, 0.0, 0.0]
        self.allocated = [0.0, 0.0, 0.0]
        self.allocated_np = [0.0, 0.0, 0.0]
        self.fair = [0.0, 0.0, 0.0]
        self._allocatable: list[float] | None = None
        self.version += 1
        # By the request of the next job: hundreds of pending jobs have few different requests.
        self.keys: dict[Quantities, tuple[bool, bool, int, bool, float, float]] = {}
        self.keys_version = self.version
        self.victim_key: tuple[bool, bool, int, bool, float, float] | None = None
        self.victim_held: Quantities = NO_QUANTITIES
        self.victim_key_version = -1

    def add_fractions(self, fractions: Iterable[Fraction]) -> None:
        """Add fractions of devices to requests and allocations, one after the other."""
        request, allocated, allocated_np = self.request[GPU], self.allocated[GPU], self.allocated_np[GPU]
        for gpus, is_allocated, is_non_preemptible in fractions:
            request += gpus
            if is_allocated:
                allocated += gpus
            if is_non_preemptible:
                allocated_np += gpus
        self.request[GPU], self.allocated[GPU], self.allocated_np[GPU] = request, allocated, allocated_np

    def set_fair_share(self, r: int, share: float) -> None:
        """Set the fair share of a resource."""
        self.fair[r] = share
        self._allocatable = None
        self.version += 1
        if self.reset_version == self.version - 1:
            # The counted amounts have not changed since the recount.
            self.reset_version = self.version

    @property
    def is_leaf(self) -> bool:
        """Whether the queue is a leaf; only leaves have jobs."""
        return not self.children

    @property
    def allocatable(self) -> list[float]:
        """The amount that the queue may use: its quota or fair share, whichever is larger, within the limit."""
        if self._allocatable is None:
            self._allocatable = [
                _allocatable(d, f, limit) for d, f, limit in zip(self.deserved, self.fair, self.limit, strict=True)
            ]
        return self._allocatable

    def at(self, allocated: list[float], allocated_np: list[float]) -> QueueShare:
        """Return a copy with other allocations; its path is still that of the original."""
        made = QueueShare.__new__(QueueShare)
        for name in self.__slots__:
            setattr(made, name, getattr(self, name))
        made.allocated, made.allocated_np = allocated, allocated_np
        return made

    def is_over_fair_share(self) -> bool:
        """Return whether the queue uses more than its fair share of every resource."""
        fair, used = self.fair, self.allocated
        return fair[0] < used[0] and fair[1] < used[1] and fair[2] < used[2]

    def fits_deserved(self, request: Quantities) -> bool:
        """Return whether the queue's allocation with a further request stays within its quota, in every resource."""
        used, quota = self.allocated, self.deserved
        return not (
            exceeds(used[0] + request[0], quota[0])
            or exceeds(used[1] + request[1], quota[1])
            or exceeds(used[2] + request[2], quota[2])
        )

    def dominant_share(self, allocated: Sequence[float], total: Quantities) -> float:
        """Return the largest ratio of allocations to what the queue may use."""
        largest = 0.0
        for used, share, capacity in zip(allocated, self.allocatable, total, strict=True):
            of = capacity if share == UNLIMITED else share
            part = used * _NO_SHARE_FACTOR if of == 0 else used / of
            if part > largest:  # noqa: PLR1730 - a call costs more, and this is the hottest loop.
                largest = part
        return largest


def _allocatable(deserved: float, fair: float, limit: float) -> float:
    if deserved == UNLIMITED:
        return limit
    share = max(deserved, fair)
    return share if limit == UNLIMITED else min(limit, share)


def claims_of(siblings: Iterable[QueueShare], r: int) -> list[Claim]:
    """Return the claims of sibling queues on a resource, before it is divided."""
    return [
        Claim(q.name, q.deserved[r], q.limit[r], q.weight[r], q.request[r], q.priority, q.created, q.usage[r])
        for q in siblings
    ]


class Shares:
    """Every queue of the session by name, and the capacity they divide."""

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
        # The amounts of the last recount, and the inputs and results of each division.
        self._counted: dict[str, tuple[Sequence[float], list[tuple[Fraction, ...]]]] | None = None
        self._divided: dict[tuple[str | None, int], tuple[tuple[float, ...], list[float]]] = {}
        # The number of divisions: fair shares change only then.
        self.epoch = 0
        # Queues recounted since the last division, with their ancestors.
        self._recounted: set[str] = set(self.queues)

    def recount(
        self,
        counted: Mapping[str, Sequence[float]],
        fractions: Mapping[str, Sequence[NumberedFractions]] = NO_FRACTIONS,
        *,
        changed: Collection[str] | None = None,
    ) -> None:
        """Recount allocated and pending requests; queues whose totals did not change keep their shares.

        Args:
            counted: For each leaf with pods: the allocated, the allocated non-preemptible, and the pending CPU, memory
                and whole GPUs.
            fractions: The fractions of GPUs in these leaves.
            changed: The leaves whose totals may have changed since the last recount; None compares all.
        """
        before, renewed = self._counted, counted.keys() if changed is None else changed
        outdated = set[str]()
        for queue in self.queues.values():
            if before is None or queue.version != queue.reset_version:
                outdated.add(queue.name)
        leaves = [(self.queues[name], amounts) for name, amounts in counted.items() if name in self.queues]
        known = {} if before is None else before
        for name in counted.keys() if before is None else renewed:
            # The numbers of jobs are those of this cycle.
            total = counted[name], [of_job for _, of_job in fractions.get(name, ())]
            if known.get(name) != total:
                known[name] = total
                outdated.update(queue.name for queue in (self.queues[name].path if name in self.queues else ()))
        for name in outdated:
            self.queues[name].reset()
        below: dict[str, list[NumberedFractions]] = {}
        for leaf, amounts in leaves:
            for queue in leaf.path:
                if queue.name in outdated:
                    _increase(queue.request, amounts[:3])
                    _increase(queue.request, amounts[6:])
                    _increase(queue.allocated, amounts[:3])
                    _increase(queue.allocated_np, amounts[3:6])
                    below.setdefault(queue.name, []).extend(fractions.get(leaf.name, ()))
        for name, parts_below in below.items():
            self.queues[name].add_fractions(fractions_in_order(parts_below))
        for name in outdated:
            queue = self.queues[name]
            queue.reset_version = queue.version
        self._counted = known
        self._recounted = outdated

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
        self._divide(self.total, None, k_value)

    def children_of(self, queue: QueueShare | None) -> list[QueueShare]:
        """Return the children of a queue, or the roots."""
        if queue is None:
            return self.roots
        return [self.queues[child] for child in queue.children]

    def _divide(self, total: Sequence[float], above: QueueShare | None, k_value: float) -> None:
        siblings = self.children_of(above)
        if not siblings:
            return
        others: set[str] = set()
        for r in range(len(RESOURCES)):
            # The other inputs of a division never change.
            asked = (total[r], k_value, *(queue.request[r] for queue in siblings))
            place = (None if above is None else above.name, r)
            known = self._divided.get(place)
            if known is None or known[0] != asked:
                claims = claims_of(siblings, r)
                divide(total[r], claims, k_value)
                known = self._divided[place] = (asked, [claim.share for claim in claims])
            for queue, share in zip(siblings, known[1], strict=True):
                if queue.fair[r] != share:
                    queue.set_fair_share(r, share)
                    others.add(queue.name)
        for queue in siblings:
            if queue.children and (queue.name in self._recounted or queue.name in others):
                self._divide(queue.fair, queue, k_value)

    def charge(self, job: Job, task: Task, sign: int) -> None:
        """Add a pod to the allocations of its queue and the ancestors, or subtract it with -1."""
        cpu, memory, gpu = task.accepted_quantities
        leaf = self.queues.get(job.queue)
        if leaf is None:
            return
        if sign < 0:
            cpu, memory, gpu = -cpu, -memory, -gpu
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


def _increase(numbers: list[float], by: Sequence[float]) -> None:
    numbers[0] += by[0]
    numbers[1] += by[1]
    numbers[2] += by[2]
