"""Which attempts of a step would change anything: those at requests that may get or reserve a node, or preempt.

See docs/decisions/0027-settled-requests.md. `scheduling_step.py` makes the attempts.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from apportion_runtime.engines.yunikorn.allocations import Allocation
from apportion_runtime.engines.yunikorn.amounts import Amounts, fits_limits
from apportion_runtime.engines.yunikorn.fitting_nodes import Shape
from apportion_runtime.engines.yunikorn.partition import Partition
from apportion_runtime.engines.yunikorn.preemption import is_beyond_guarantee
from apportion_runtime.engines.yunikorn.queue_order import ordered_applications
from apportion_runtime.engines.yunikorn.queues import Queue

RESERVATION_DELAY_S = 2.0
"""The age from which a request reserves a node."""
RESERVATION_TIMEOUT_S = 2 * 3600.0
"""The age at which a reservation that its queue has no room for is removed."""
MOST_PREEMPTIONS = 10
"""Attempts at preemption for each queue in one step."""


def note_postponed(partition: Partition, now: float) -> None:
    """Note that preemption was attempted for all requests whose attempts were postponed, which had no effect."""
    requests = partition.pending_requests
    for leaf in requests.leaves.values():
        if leaf.n_postponed:
            leaf.n_postponed = 0
            for request in requests.due_requests(leaf, now):
                request.checked_at = now
                requests.checked(request)


class Attempts:
    """The attempts of a step, which ends with the first one that changes anything.

    Args:
        partition: The partition.
        now: The time.
    """

    def __init__(self, partition: Partition, now: float) -> None:
        self._partition = partition
        self._nodes = partition.nodes
        self._requests = partition.pending_requests
        self._now = now
        self._may_place: dict[Shape, bool] = {}
        self._headroom: Amounts | None = None

    def forget(self) -> None:
        """Compute anew where nodes are free, as a search for victims may remove reservations."""
        self._may_place.clear()

    def are_settled(self) -> bool:
        """Return whether no request would change anything."""
        self._headroom = self._partition.root.headroom()
        if (
            self._partition.tries_all
            or self._has_timed_out
            or self._nodes.fitting.ready
            or self._is_due(self._requests.due())
        ):
            return False
        return not any(map(self._can_place, self._requests.shapes))

    @property
    def _has_timed_out(self) -> bool:
        since = self._requests.oldest_reservation
        return since is not None and self._now - since > RESERVATION_TIMEOUT_S

    def _is_due(self, at: float | None) -> bool:
        return self._partition.preempts and at is not None and at <= self._now

    def _can_place(self, shape: Shape) -> bool:
        """Return whether any request of a shape may get a node, or reserve one."""
        known = self._may_place.get(shape)
        if known is None:
            known = self._may_place[shape] = fits_limits(self._headroom, dict(shape)) and (
                self._nodes.fitting.first(shape) is not None or self._can_reserve(shape)
            )
        return known

    def _can_reserve(self, shape: Shape) -> bool:
        if not self._nodes.fitting.has_open:
            return False
        oldest = self._requests.oldest_without_reservation(shape)
        return oldest is not None and self._now - oldest > RESERVATION_DELAY_S

    def is_idle(self, request: Allocation) -> bool:
        """Return whether an attempt at a request would change nothing."""
        if self._partition.tries_all or (self._partition.preempts and self._requests.is_due(request, self._now)):
            return False
        if not self._can_place(request.shape):
            return True
        if self._nodes.fitting.first(request.shape) is not None:
            return False
        return request.key in request.application.reservations or self._now - request.created[0] <= RESERVATION_DELAY_S

    def is_leaf_idle(self, queue: Queue) -> bool:
        """Return whether this holds for all requests of a queue."""
        leaf = self._requests.leaves.get(queue)
        if leaf is None or self._partition.tries_all or self._is_due(self._requests.due_in(leaf)):
            return False
        return not any(map(self._can_place, leaf.n_of_shape))

    def are_postponed(self, queue: Queue) -> bool:
        """Return whether only preemption can be attempted in a queue that exceeds its guarantee: then it is, without effect,
        once no step changes anything.

        If that is no longer so, the attempts that would have been made before are noted.
        """
        leaf = self._requests.leaves.get(queue)
        if leaf is None or self._partition.tries_all:
            return False
        if not any(map(self._can_place, leaf.n_of_shape)) and all(
            is_beyond_guarantee(queue, dict(shape)) for shape in leaf.n_of_shape
        ):
            leaf.n_postponed += 1
            return True
        if leaf.n_postponed:
            due = (each for each in self._in_order(queue) if self._requests.is_due(each, self._now))
            for request in list(islice(due, leaf.n_postponed * MOST_PREEMPTIONS)):
                request.checked_at = self._now
                self._requests.checked(request)
            leaf.n_postponed = 0
        return False

    def _in_order(self, queue: Queue) -> Iterator[Allocation]:
        for application in ordered_applications(queue):
            for _, request in application.in_order:
                yield request

    def are_reservations_idle(self, queue: Queue) -> bool:
        """Return whether no reservation of a queue can be used or removed."""
        leaf = self._requests.leaves.get(queue)
        if leaf is None or self._partition.tries_all or self._has_timed_out:
            return False
        fitting = self._nodes.fitting
        if any(
            each.application.queue is queue for node in fitting.ready.values() for each in node.reservations.values()
        ):
            return False
        return not any(fitting.first(shape) is not None for shape in leaf.reserved)
