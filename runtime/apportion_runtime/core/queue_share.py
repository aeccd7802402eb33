"""The numbers of one queue in a session: quota, limit, fair share, allocations and requests.

Source: pkg/scheduler/plugins/proportion/resource_share/.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from apportion_runtime.core.division import QueueDemand
from apportion_runtime.core.queue_usage import NumberedFractions
from apportion_runtime.core.resources import GPU, MEMORY, NO_QUANTITIES, UNLIMITED, Quantities, exceeds
from apportion_runtime.core.snapshot import Queue

_NO_SHARE_FACTOR = 1000
"""Weight of usage without any share: it dominates every real share."""


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
        self.version = 0
        self.request, self.allocated, self.allocated_np = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
        self.fair = [0.0, 0.0, 0.0]
        self._allocatable: list[float] | None = None
        # By the request of the next job: hundreds of pending jobs have few different requests.
        self.keys: dict[Quantities, tuple[bool, bool, int, bool, float, float]] = {}
        self.keys_version = self.version
        self.victim_key: tuple[bool, bool, int, bool, float, float] | None = None
        self.victim_held: Quantities = NO_QUANTITIES
        self.victim_key_version = -1

    def count(self, request: list[float], allocated: list[float], allocated_np: list[float]) -> None:
        """Set requests, allocations and non-preemptible allocations, without fractions of devices."""
        self.request, self.allocated, self.allocated_np = request, allocated, allocated_np
        self.version += 1

    def add_fractions(self, jobs: Iterable[NumberedFractions]) -> None:
        """Add fractions of devices to requests and allocations, one after the other."""
        request, allocated, allocated_np = self.request[GPU], self.allocated[GPU], self.allocated_np[GPU]
        for _, fractions in jobs:
            for gpus, is_allocated, is_non_preemptible in fractions:
                request += gpus
                if is_allocated:
                    allocated += gpus
                if is_non_preemptible:
                    allocated_np += gpus
        self.request[GPU], self.allocated[GPU], self.allocated_np[GPU] = request, allocated, allocated_np

    def set_fair_share(self, r: int, share: float) -> None:
        """Set the fair share of a resource."""
        # A new list: a frozen view of the queue may still refer to the former one.
        self.fair = [*self.fair[:r], share, *self.fair[r + 1 :]]
        self._allocatable = None
        self.version += 1

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


def demands_of(siblings: Iterable[QueueShare], r: int) -> list[QueueDemand]:
    """Return the demands of sibling queues on a resource, before it is divided."""
    return [
        QueueDemand(q.name, q.deserved[r], q.limit[r], q.weight[r], q.request[r], q.priority, q.created, q.usage[r])
        for q in siblings
    ]
