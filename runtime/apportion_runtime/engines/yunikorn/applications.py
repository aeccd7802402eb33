"""Applications: their requests, allocations and states.

Source: yunikorn-core pkg/scheduler/objects (application.go, application_state.go) at be3bb487.
"""

from __future__ import annotations

import enum
from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappush
from typing import Protocol

from apportion_runtime.engines.yunikorn.allocations import Allocation
from apportion_runtime.engines.yunikorn.amounts import Amounts, fits, is_zero, minus, plus, pruned
from apportion_runtime.engines.yunikorn.nodes import Node
from apportion_runtime.engines.yunikorn.pending_requests import PendingRequests
from apportion_runtime.engines.yunikorn.queues import NO_PRIORITY, Queue

COMPLETING_S = 30.0
"""The time after which an application without requests and allocations is completed."""
PLACEHOLDER_TIMEOUT_S = 900.0
"""The default time for which placeholders are kept."""
SOFT, HARD = "Soft", "Hard"


class Phase(enum.Enum):
    """The state of an application."""

    NEW = "New"
    ACCEPTED = "Accepted"
    RUNNING = "Running"
    COMPLETING = "Completing"
    COMPLETED = "Completed"
    RESUMING = "Resuming"
    FAILING = "Failing"
    FAILED = "Failed"


_RUN = {
    Phase.NEW: Phase.ACCEPTED,
    Phase.RESUMING: Phase.ACCEPTED,
    Phase.ACCEPTED: Phase.RUNNING,
    Phase.RUNNING: Phase.RUNNING,
    Phase.COMPLETING: Phase.RUNNING,
}
_COMPLETE = {
    Phase.ACCEPTED: Phase.COMPLETING,
    Phase.RUNNING: Phase.COMPLETING,
    Phase.COMPLETING: Phase.COMPLETED,
}
_FAIL = {
    Phase.NEW: Phase.FAILING,
    Phase.ACCEPTED: Phase.FAILING,
    Phase.RUNNING: Phase.FAILING,
    Phase.FAILING: Phase.FAILED,
}


@dataclass(slots=True)
class PlaceholderCounts:
    """The placeholders of a task group."""

    n_all: int = 0
    n_replaced: int = 0
    n_timed_out: int = 0

    @property
    def n_left(self) -> int:
        """The placeholders that a real pod may still replace."""
        return self.n_all - self.n_replaced - self.n_timed_out


class Usage(Protocol):
    """The usage of users."""

    def add(self, user: str, queue: Queue, application: str, amounts: Amounts) -> None:
        """Count an allocation."""
        ...

    def remove(self, user: str, queue: Queue, application: str, amounts: Amounts, *, is_last: bool) -> None:
        """Stop counting an allocation."""
        ...


@dataclass(slots=True, eq=False)
class Application:
    """An application.

    Attributes:
        name: Its id.
        queue: Its queue.
        user: Its user.
        submitted: When it was submitted, and its number among those of the same moment.
        usage: Counts the usage of users.
        placeholder_amounts: What all its placeholders request; None without task groups.
        placeholder_timeout_s: The time for which placeholders are kept.
        pending_requests: Counts its pending requests with those of the partition.
        style: `Soft` if it continues without a gang once placeholders time out, `Hard` if it fails.
    """

    name: str
    queue: Queue
    user: str
    submitted: tuple[float, int]
    usage: Usage
    placeholder_amounts: Amounts | None = None
    placeholder_timeout_s: float = PLACEHOLDER_TIMEOUT_S
    style: str = SOFT
    phase: Phase = Phase.NEW
    requests: dict[str, Allocation] = field(default_factory=dict[str, Allocation])
    in_order: list[tuple[tuple[int, float, int], Allocation]] = field(
        default_factory=list[tuple[tuple[int, float, int], Allocation]]
    )
    """The pending requests by priority, then age in seconds."""
    _keys: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    """The priorities and ages of all requests, in this order."""
    _ties: dict[tuple[int, float], tuple[int, int]] = field(default_factory=dict[tuple[int, float], tuple[int, int]])
    """The first and last place among requests of the same priority and age."""
    allocations: dict[str, Allocation] = field(default_factory=dict[str, Allocation])
    reservations: dict[str, tuple[Node, Allocation, float]] = field(
        default_factory=dict[str, tuple[Node, Allocation, float]]
    )
    """The reserved node of a request, by its key, with the time of the reservation."""
    pending: Amounts = field(default_factory=dict[str, int])
    allocated: Amounts = field(default_factory=dict[str, int])
    placeholders: Amounts = field(default_factory=dict[str, int])
    """What its placeholders use."""
    counts: dict[str, PlaceholderCounts] = field(default_factory=dict[str, PlaceholderCounts])
    has_placeholders: bool = False
    priority: int = NO_PRIORITY
    """The highest priority of its pending requests."""
    completes_at: float | None = None
    """When it is completed if nothing happens."""
    times_out_at: float | None = None
    """When its placeholders time out."""
    number: int = 0
    """Its number among the applications of the partition."""
    timers: list[tuple[float, int, str]] = field(default_factory=list[tuple[float, int, str]], repr=False)
    """Receives the time of each timer that is set, with the number and the name of the application."""
    pending_requests: PendingRequests = field(default_factory=PendingRequests, repr=False)

    def add_request(self, request: Allocation) -> None:
        """Add a request."""
        self.submitted = min(self.submitted, request.created)
        if self.phase in (Phase.NEW, Phase.COMPLETING):
            self.run()
        self._add(request)
        self._enqueue(request)
        if request.priority > self.priority:
            self._set_priority(request.priority)
        self.pending = pruned(plus(self.pending, request.amounts))
        self.queue.add_pending(request.amounts)

    def recover(self, allocation: Allocation, now: float) -> None:
        """Add an allocation that was made before the scheduler started."""
        self._add(allocation)
        if self.phase is Phase.NEW:
            self.run()
        self.add_allocation(allocation, now)

    def _add(self, request: Allocation) -> None:
        self.requests[request.key] = request
        if request.is_placeholder:
            self.counts.setdefault(request.task_group, PlaceholderCounts()).n_all += 1
            self.pending_requests.gangs.add(self.name)

    def _enqueue(self, request: Allocation) -> None:
        """Insert a request: before others of its priority and age unless these are the last (sortedRequests)."""
        key = -request.priority, request.created[0]
        first, last = self._ties.get(key, (0, -1))
        if not self._keys or key >= self._keys[-1]:
            place = last = last + 1
        else:
            place = first = first - 1
        self._ties[key] = first, last
        insort(self._keys, key)
        request.order = *key, place
        self._wait(request)

    def _wait(self, request: Allocation) -> None:
        insort(self.in_order, (_order(request), request), key=lambda each: each[0])
        self.pending_requests.add(request)

    def _dequeue(self, request: Allocation) -> None:
        del self.in_order[bisect_left(self.in_order, _order(request), key=lambda each: each[0])]
        self.pending_requests.discard(request)

    def _forget(self, request: Allocation) -> None:
        if request.order is not None:
            del self._keys[bisect_left(self._keys, request.order[:2])]
        if not self._keys:
            self._ties.clear()

    def _set_priority(self, priority: int) -> None:
        self.priority = priority
        if self.name in self.queue.applications:
            self.queue.set_priority(self.name, priority)

    def _lower_priority(self, request: Allocation) -> None:
        if request.priority >= self.priority:
            waiting = (each.priority for each in self.requests.values() if not each.is_allocated)
            self._set_priority(max(waiting, default=NO_PRIORITY))

    def take(self, request: Allocation) -> None:
        """Mark a request as allocated."""
        request.is_allocated = True
        self._dequeue(request)
        self._lower_priority(request)
        self.pending = pruned(minus(self.pending, request.amounts))
        self.queue.remove_pending(request.amounts)

    def give_back(self, request: Allocation) -> None:
        """Mark an allocated request as pending again."""
        request.is_allocated = False
        self._wait(request)
        if request.priority > self.priority:
            self._set_priority(request.priority)
        self.pending = plus(self.pending, request.amounts)
        self.queue.add_pending(request.amounts)

    def can_replace(self, request: Allocation) -> bool:
        """Return whether a placeholder is left for a request, which therefore waits for it."""
        if request.is_placeholder or not request.task_group:
            return False
        counts = self.counts.get(request.task_group)
        return counts is not None and counts.n_left > 0

    def add_allocation(self, allocation: Allocation, now: float, *, is_replacement: bool = False) -> None:
        """Count an allocation, and start the application with its first one, or with its last placeholder."""
        if allocation.is_placeholder:
            if is_zero(self.placeholders):
                self.has_placeholders = True
                if self.times_out_at is None and self.phase is Phase.ACCEPTED:
                    self.times_out_at = now + self.placeholder_timeout_s
                    heappush(self.timers, (self.times_out_at, self.number, self.name))
            self._use(allocation)
            self.placeholders = plus(self.placeholders, allocation.amounts)
            if is_zero(minus(self.placeholders, self.placeholder_amounts)):
                self.run()
        else:
            if not is_replacement or not is_zero(self.allocated) or self.phase is Phase.COMPLETING:
                self.run()
            self._use(allocation)
            self.allocated = plus(self.allocated, allocation.amounts)
        self.submitted = min(self.submitted, allocation.created)
        self.allocations[allocation.key] = allocation
        self.queue.victim_order = None

    def _use(self, allocation: Allocation) -> None:
        self.usage.add(self.user, self.queue, self.name, allocation.amounts)

    def remove_allocation(self, key: str, now: float, *, is_replaced: bool = False) -> Allocation | None:
        """Stop counting an allocation; return it, or None if there is none with this key."""
        allocation = self.allocations.get(key)
        if allocation is None:
            return None
        is_last = False
        step = None
        if allocation.is_placeholder:
            counts = self.counts.get(allocation.task_group)
            if counts is not None and is_replaced:
                counts.n_replaced += 1
            elif counts is not None:
                counts.n_timed_out += 1
            self.placeholders = pruned(minus(self.placeholders, allocation.amounts))
            if is_zero(self.placeholders):
                self.times_out_at = None
                self.has_placeholders = False
                stuck = self.phase is Phase.COMPLETING and self.completes_at is None
                if stuck or self.phase in (Phase.FAILING, Phase.RESUMING) or self._is_idle:
                    is_last = self.phase is not Phase.RESUMING
                    step = self._next_step()
        else:
            self.allocated = pruned(minus(self.allocated, allocation.amounts))
            if self._is_idle:
                is_last, step = True, self.complete
        self.usage.remove(self.user, self.queue, self.name, allocation.amounts, is_last=is_last)
        # The application that completes leaves its queue, which counts what is left.
        if step is not None:
            step(now)
        del self.allocations[key]
        return allocation

    def _next_step(self) -> Callable[[float], None]:
        """Return what happens once its last placeholder is gone."""
        if self.phase is Phase.RESUMING:
            return lambda now: self.run()
        return self.fail if self.phase is Phase.FAILING else self.complete

    @property
    def _is_idle(self) -> bool:
        return is_zero(self.pending) and is_zero(self.allocated)

    def remove_request(self, key: str, now: float) -> None:
        """Remove a request, and its reservation."""
        if not self.requests:
            return
        self.unreserve(key)
        request = self.requests.pop(key, None)
        if request is not None:
            if not request.is_allocated:
                self.pending = pruned(minus(self.pending, request.amounts))
                self.queue.remove_pending(request.amounts)
                self._dequeue(request)
            self._forget(request)
            self._lower_priority(request)
        self._complete_if_empty(now)

    def remove_requests(self, now: float) -> None:
        """Remove all requests and reservations."""
        if not self.requests:
            return
        for key in list(self.reservations):
            self.unreserve(key)
        self.queue.remove_pending(self.pending)
        self.pending = {}
        for _, request in self.in_order:
            self.pending_requests.discard(request)
        self.requests.clear()
        self.in_order.clear()
        self._keys.clear()
        self._ties.clear()
        self._set_priority(NO_PRIORITY)
        self._complete_if_empty(now)

    def _complete_if_empty(self, now: float) -> None:
        has_placeholders = any(each.is_placeholder for each in self.allocations.values())
        if self._is_idle and self.phase not in (Phase.FAILING, Phase.COMPLETING) and not has_placeholders:
            self.complete(now)

    def reserve(self, node: Node, request: Allocation, now: float) -> bool:
        """Reserve a node for a request; return whether it was possible."""
        if request.key not in self.requests or request.is_allocated or request.key in self.reservations:
            return False
        shares = request.required_node and all(other.required_node for other in node.reservations.values())
        if (node.reservations and not shares) or not fits(node.capacity, request.amounts):
            return False
        node.reserve(request)
        self.pending_requests.reserve(request, now)
        self.reservations[request.key] = (node, request, now)
        self.queue.reserve(self.name)
        return True

    def unreserve(self, key: str) -> None:
        """Remove the reservation of a request."""
        found = self.reservations.pop(key, None)
        if found is not None:
            found[0].unreserve(key)
            self.pending_requests.unreserve(found[1])
            self.queue.unreserve(self.name)

    def run(self) -> None:
        """Accept the application, or start it."""
        self._enter(_RUN.get(self.phase), 0.0)

    def complete(self, now: float) -> None:
        """Move on to its end; nothing happens in a state from which it cannot."""
        self._enter(_COMPLETE.get(self.phase), now)

    def fail(self, now: float) -> None:
        """Move on to its failure."""
        self._enter(_FAIL.get(self.phase), now)

    def resume(self) -> None:
        """Continue without a gang."""
        if self.phase in (Phase.NEW, Phase.ACCEPTED):
            self._enter(Phase.RESUMING, 0.0)

    def _enter(self, phase: Phase | None, now: float) -> None:
        if phase is None or (phase is self.phase and phase is Phase.RUNNING):
            return
        if self.phase is Phase.RUNNING:
            self.queue.remove_running()
        self.completes_at = now + COMPLETING_S if phase is Phase.COMPLETING else None
        if self.completes_at is not None:
            heappush(self.timers, (self.completes_at, self.number, self.name))
        self.phase = phase
        if phase is Phase.RUNNING:
            self.queue.add_running(self.name)

    @property
    def is_over(self) -> bool:
        """Whether the application is completed or has failed: it is no longer in its queue."""
        return self.phase in (Phase.COMPLETED, Phase.FAILED)


def _order(request: Allocation) -> tuple[int, float, int]:
    assert request.order is not None
    return request.order
