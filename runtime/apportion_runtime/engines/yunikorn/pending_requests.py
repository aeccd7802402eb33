"""The pending requests by queue and size, and when each may preempt: whether a step of the scheduler can change anything.

Source of the conditions: `scheduling_step.py`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from apportion_runtime.engines.yunikorn.fitting_nodes import Shape

if TYPE_CHECKING:
    from apportion_runtime.engines.yunikorn.allocations import Allocation
    from apportion_runtime.engines.yunikorn.queues import Queue

RETRY_S = 15.0
"""The interval between attempts at preemption for one request."""
_Moments = list[tuple[float, int, "Allocation"]]


def preempts_at(request: Allocation, delay_s: float) -> float:
    """Return when preemption can next be attempted for a request that may preempt."""
    return max(request.created[0] + delay_s, request.checked_at + RETRY_S)


@dataclass(slots=True)
class LeafRequests:
    """The pending requests of one queue.

    Attributes:
        n_of_shape: Their number by shape.
        reserved: The number of those that have a reservation, by shape.
        first: When preemption can be attempted first for each for which it was not.
        again: When it can be attempted again for the others, in order of time.
        n_postponed: The number of passes in which attempts were postponed that would have no effect.
    """

    n_of_shape: Counter[Shape] = field(default_factory=Counter[Shape])
    reserved: Counter[Shape] = field(default_factory=Counter[Shape])
    first: _Moments = field(default_factory=list[tuple[float, int, "Allocation"]])
    again: deque[tuple[float, Allocation]] = field(default_factory=deque[tuple[float, "Allocation"]])
    n_postponed: int = 0


class PendingRequests:
    """The pending requests of a partition.

    Attributes:
        leaves: The requests of each queue that has any.
        gangs: The applications with placeholders, by name; their requests also wait for each other.
        n_required: The number of requests that require a node.
    """

    def __init__(self) -> None:
        self._n_pushed = 0
        self._pending: dict[Allocation, None] = {}
        self._reserved: dict[Allocation, float] = {}
        """The requests with a reservation, in order of its time."""
        self._n_of_shape: Counter[Shape] = Counter()
        self._unchecked: _Moments = []
        self._created: _Moments = []
        self._loose: dict[Shape, _Moments] = {}
        self.leaves: dict[Queue, LeafRequests] = {}
        self.gangs: set[str] = set()
        self.n_required = 0

    def add(self, request: Allocation) -> None:
        """Add a request."""
        if request in self._pending:
            return
        self._pending[request] = None
        leaf = self._leaf(request)
        leaf.n_of_shape[request.shape] += 1
        self._n_of_shape[request.shape] += 1
        self._loosen(request)
        if request.required_node:
            self.n_required += 1
            return
        self._push(self._created, request.created[0], request)
        if request.may_preempt and not request.has_preempted:
            delay_s = request.application.queue.settings.preemption_delay_s
            at = preempts_at(request, delay_s)
            if not request.is_checked:
                self._push(self._unchecked, at, request)
            self._push(leaf.first, at, request)

    def discard(self, request: Allocation) -> None:
        """Remove a request that is allocated or gone."""
        if request not in self._pending:
            return
        del self._pending[request]
        self.n_required -= bool(request.required_node)
        if request in self._reserved:
            self._unreserve(request)
        leaf = self._leaf(request)
        for counter in (leaf.n_of_shape, self._n_of_shape):
            counter[request.shape] -= 1
            if not counter[request.shape]:
                del counter[request.shape]
        if not leaf.n_of_shape:
            del self.leaves[request.application.queue]

    def reserve(self, request: Allocation, now: float) -> None:
        """Note that a request has a reservation."""
        if request in self._pending and request not in self._reserved:
            self._reserved[request] = now
            self._leaf(request).reserved[request.shape] += 1

    def unreserve(self, request: Allocation) -> None:
        """Note that a request has no reservation."""
        if request in self._reserved:
            self._unreserve(request)
            if request in self._pending:
                self._loosen(request)

    def _unreserve(self, request: Allocation) -> None:
        del self._reserved[request]
        counter = self._leaf(request).reserved
        counter[request.shape] -= 1
        if not counter[request.shape]:
            del counter[request.shape]

    def _leaf(self, request: Allocation) -> LeafRequests:
        return self.leaves.setdefault(request.application.queue, LeafRequests())

    def _loosen(self, request: Allocation) -> None:
        self._push(self._loose.setdefault(request.shape, []), request.created[0], request)

    def _push(self, moments: _Moments, at: float, request: Allocation) -> None:
        self._n_pushed += 1
        heappush(moments, (at, self._n_pushed, request))

    def checked(self, request: Allocation) -> None:
        """Note that preemption was attempted for a request now."""
        self._leaf(request).again.append((request.checked_at + RETRY_S, request))

    @property
    def oldest_reservation(self) -> float | None:
        """When the oldest reservation of a pending request was made; None if there is none."""
        return next(iter(self._reserved.values()), None)

    @property
    def shapes(self) -> Counter[Shape]:
        """The number of requests of each shape."""
        return self._n_of_shape

    def oldest_without_reservation(self, shape: Shape) -> float | None:
        """Return when the oldest request of a shape without a reservation was created; None if there is none."""
        return _first(
            self._loose.get(shape, []), lambda at, _, each: each in self._pending and each not in self._reserved
        )

    def due(self) -> float | None:
        """Return when preemption is attempted next for any request; None if it never is."""
        return min((at for leaf in self.leaves.values() if (at := self.due_in(leaf)) is not None), default=None)

    def due_in(self, leaf: LeafRequests) -> float | None:
        """Return the same for the requests of a queue."""
        first, again = _first(leaf.first, self._is_due), leaf.again
        while again and not self._is_due(again[0][0], 0, again[0][1]):
            again.popleft()
        if first is None or not again:
            return again[0][0] if again else first
        return min(first, again[0][0])

    def due_requests(self, leaf: LeafRequests, now: float) -> list[Allocation]:
        """Return the requests of a queue for which preemption can be attempted."""
        found = [each for at, _, each in leaf.first if at <= now and self._is_due(at, 0, each)]
        for at, each in leaf.again:
            if at > now:
                break
            if self._is_due(at, 0, each):
                found.append(each)
        return list(dict.fromkeys(found))

    def is_due(self, request: Allocation, now: float) -> bool:
        """Return whether preemption can be attempted for a request."""
        if not request.may_preempt or request.has_preempted or request.required_node:
            return False
        return preempts_at(request, request.application.queue.settings.preemption_delay_s) <= now

    def _is_due(self, at: float, _: int, request: Allocation) -> bool:
        if request not in self._pending or request.has_preempted:
            return False
        return preempts_at(request, request.application.queue.settings.preemption_delay_s) == at

    def unchecked(self) -> float | None:
        """Return when preemption is attempted for the first time for a request for which it was not; None if it never is."""
        return _first(
            self._unchecked,
            lambda at, _, each: each in self._pending and not each.has_preempted and not each.is_checked,
        )

    def first_created(self, is_due: Callable[[float], bool]) -> float | None:
        """Return when the oldest request was created for which something is due; the result may only change once."""
        return _first(self._created, lambda at, _, each: is_due(at) and each in self._pending)


def _first(moments: _Moments, is_valid: Callable[[float, int, Allocation], bool]) -> float | None:
    """Return the first valid moment; the others are discarded."""
    while moments:
        if is_valid(*moments[0]):
            return moments[0][0]
        heappop(moments)
    return None
