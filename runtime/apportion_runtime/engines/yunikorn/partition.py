"""YuniKorn's core: a partition with its queues, applications and nodes.

Source: yunikorn-core pkg/scheduler (partition.go, context.go) at be3bb487.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop

from apportion_runtime.engines.yunikorn.allocations import Allocation
from apportion_runtime.engines.yunikorn.amounts import Amounts, fits_limits, is_positive, is_zero, minus, plus, pruned
from apportion_runtime.engines.yunikorn.applications import HARD, Application, Phase
from apportion_runtime.engines.yunikorn.nodes import Node, Nodes
from apportion_runtime.engines.yunikorn.pending_requests import PendingRequests
from apportion_runtime.engines.yunikorn.preemption import Predicates
from apportion_runtime.engines.yunikorn.queues import FIFO, Queue, QueueSettings, walk
from apportion_runtime.engines.yunikorn.user_limits import UserLimits

RECOVERY_QUEUE = "@recovery@"
"""The queue of applications that run already and match no placement rule; no application can name it."""


class RefusedError(ValueError):
    """An application is rejected; the message is YuniKorn's."""


@dataclass(frozen=True, slots=True)
class Eviction:
    """An allocation that is evicted for a request."""

    victim: Allocation
    request: Allocation


class Partition:
    """A partition.

    Args:
        root: The root of the queues.
        nodes: The nodes.
        limits: The limits for users.
        predicates: Decides which nodes are possible for a pod.
        preempts: Whether preemption is enabled.

    Attributes:
        queues: By path.
        applications: By id.
        evictions: Evictions that are not yet carried out.
        expired: Placeholders, and requests for them, that are to be removed because they timed out.
        n_attempts: The number of attempted preemptions.
    """

    def __init__(
        self, root: Queue, nodes: Nodes, limits: UserLimits, predicates: Predicates, *, preempts: bool = True
    ) -> None:
        self.root = root
        self.nodes = nodes
        self.limits = limits
        self.predicates = predicates
        self.preempts = preempts
        self.queues = {queue.path: queue for queue in walk(root)}
        self.applications: dict[str, Application] = {}
        self.evictions: list[Eviction] = []
        self.expired: list[Allocation] = []
        self.n_attempts = 0
        self._n_applications = 0
        self._timers: list[tuple[float, int, str]] = []
        self.pending_requests = PendingRequests()
        """The pending requests of all applications."""
        self._has_limits = limits.has_any or any(queue.settings.max_applications for queue in self.queues.values())
        """Whether users or the number of applications are limited."""
        self._seen: set[frozenset[str]] = set()
        """The requests with reservations when a pod could not reserve its node, since an allocation, at one time."""
        self._seen_at = -math.inf

    @property
    def tries_all(self) -> bool:
        """Whether requests depend on more than their own room: on limits, on placeholders, or on the node that they require."""
        return self._has_limits or bool(self.pending_requests.gangs or self.pending_requests.n_required)

    def recurs(self, now: float) -> bool:
        """Return whether the reservations were the same before, and remember them until the time or an allocation changes."""
        if now != self._seen_at:
            self._seen.clear()
            self._seen_at = now
        reserved = frozenset(key for node in self.nodes for key in node.reservations)
        is_known = reserved in self._seen
        self._seen.add(reserved)
        return is_known

    def forget_reservations(self) -> None:
        """Forget the reservations that `recurs` remembers."""
        self._seen.clear()

    def add_node(self, node: Node) -> None:
        """Add a node."""
        self.nodes.add(node)
        self._resize({}, node.capacity)

    def resize_node(self, node: Node, capacity: Amounts) -> None:
        """Change the capacity of a node."""
        self._resize(node.capacity, capacity)
        node.resize(capacity)
        self.nodes.touch(node)

    def remove_node(self, name: str, now: float) -> None:
        """Remove a node; its allocations must have been released, except placeholders and those that replace them."""
        node = self.nodes.remove(name)
        if node is None:
            return
        for request in list(node.reservations.values()):
            request.application.unreserve(request.key)
        for allocation in list(node.allocations.values()):
            self.lose(allocation, now)
        self._resize(node.capacity, {})

    def _resize(self, before: Amounts, after: Amounts) -> None:
        total = pruned(minus(plus(self.root.maximum, after), before))
        self.root.maximum = total if is_positive(total) else None

    def recovery_queue(self) -> Queue:
        """Return the recovery queue, which has no limits, and inherits nothing; it is created if necessary."""
        if RECOVERY_QUEUE not in self.root.children:
            queue = Queue(RECOVERY_QUEUE, self.root, is_leaf=True, settings=QueueSettings())
            self.queues[queue.path] = queue
        return self.root.children[RECOVERY_QUEUE]

    def add_application(self, application: Application) -> None:
        """Add an application to its queue.

        Raises:
            RefusedError: If its task groups cannot run there.
        """
        queue, asked = application.queue, application.placeholder_amounts
        if asked is not None and not is_zero(asked):
            if queue.settings.sort_policy != FIFO:
                raise RefusedError(
                    f"queue {queue.path} cannot run application {application.name} with task group request: "
                    "unsupported sort type"
                )
            maximum = queue.configured_maximum()
            if maximum is not None and not fits_limits(maximum, asked):
                raise RefusedError(
                    f"queue {queue.path} cannot fit application {application.name}: "
                    "its task groups request more than the maximum of the queue"
                )
        self._n_applications += 1
        application.number, application.timers = self._n_applications, self._timers
        application.pending_requests = self.pending_requests
        queue.applications[application.name] = application
        self.applications[application.name] = application

    def recover(self, allocation: Allocation, node: Node, now: float) -> None:
        """Add an allocation that was made before the scheduler started; no limit is checked."""
        allocation.is_allocated, allocation.node = True, node
        allocation.application.queue.allocate(allocation.amounts)
        self.nodes.allocate(node, allocation)
        allocation.application.recover(allocation, now)

    def release(self, allocation: Allocation, now: float, *, timed_out: bool = False) -> None:
        """Remove a request or an allocation that is gone.

        The core ignores those of an application that is over, and their node stays occupied (removeAllocation).

        Args:
            allocation: The allocation.
            now: The time.
            timed_out: Whether it is a placeholder that timed out; its request is kept.
        """
        application, queue = allocation.application, allocation.application.queue
        if self.applications.get(application.name) is not application:
            return
        removed = application.remove_allocation(allocation.key, now)
        if removed is not None and removed.node is not None:
            if self.nodes.release(removed.node, removed.key):
                queue.release(removed.amounts)
            if removed.is_preempted:
                queue.remove_preempting(removed.amounts)
        self._close(application)
        if not timed_out and not application.is_over:
            application.remove_request(allocation.key, now)
            self._close(application)

    def confirm_replacement(self, placeholder: Allocation, now: float) -> Allocation | None:
        """Remove a replaced placeholder, and return the allocation that takes its place."""
        application, real = placeholder.application, placeholder.counterpart
        if application.remove_allocation(placeholder.key, now, is_replaced=True) is None or real is None:
            return None
        application.add_allocation(real, now, is_replacement=True)
        real.counterpart = None
        difference = minus(real.amounts, placeholder.amounts)
        if placeholder.node is not None and placeholder.node is real.node:
            del placeholder.node.allocations[placeholder.key]
            placeholder.node.allocations[real.key] = real
            placeholder.node.available = minus(placeholder.node.available, difference)
            self.nodes.touch(placeholder.node)
        elif placeholder.node is not None:
            self.nodes.release(placeholder.node, placeholder.key)
        unused = {name: -value for name, value in difference.items()}
        if any(value > 0 for value in unused.values()) and is_positive(unused):
            application.queue.release(unused)
        application.remove_request(placeholder.key, now)
        self._close(application)
        return real

    def lose(self, allocation: Allocation, now: float) -> None:
        """Remove an allocation whose node is gone; one that replaces a placeholder there is placed again."""
        other = allocation.counterpart
        if other is not None:
            real = other if allocation.is_placeholder else allocation
            other.counterpart = allocation.counterpart = None
            if real.node is not None and real.node is not allocation.node:
                self.nodes.release(real.node, real.key)
            real.node = None
            real.application.give_back(real)
        self.release(allocation, now)

    def advance(self, now: float) -> None:
        """Let timers elapse: placeholders time out, and applications without requests complete."""
        due: dict[int, Application] = {}
        while self._timers and self._timers[0][0] <= now:
            _, number, name = heappop(self._timers)
            application = self.applications.get(name)
            if application is not None and application.number == number:
                due[number] = application
        for _, application in sorted(due.items()):
            if application.times_out_at is not None and application.times_out_at <= now:
                self._time_out(application, now)
            if application.completes_at is not None and application.completes_at <= now:
                self._complete(application, now)

    def next_timer(self) -> float:
        """Return when the next timer elapses; infinity if none is set."""
        while self._timers:
            at, number, name = self._timers[0]
            application = self.applications.get(name)
            if (
                application is not None
                and application.number == number
                and at in (application.times_out_at, application.completes_at)
            ):
                return at
            heappop(self._timers)
        return math.inf

    def _complete(self, application: Application, now: float) -> None:
        if is_zero(application.placeholders):
            application.complete(now)
            self._close(application)
            return
        application.completes_at = None
        self.expired += _released(application)

    def _time_out(self, application: Application, now: float) -> None:
        application.times_out_at = None
        if application.phase in (Phase.RUNNING, Phase.COMPLETING) and not is_zero(application.placeholders):
            self.expired += _released(application)
            return
        if application.style == HARD:
            application.fail(now)
        else:
            application.resume()
        for allocation in application.allocations.values():
            if not allocation.is_preempted:
                allocation.is_released = True
                self.expired.append(allocation)
        for request in application.requests.values():
            if not request.is_allocated:
                counts = application.counts.get(request.task_group)
                if counts is not None:
                    counts.n_timed_out += 1
                self.expired.append(request)
        application.remove_requests(now)
        self._close(application)

    def _close(self, application: Application) -> None:
        """Remove an application that is over from its queue, with what it still holds there."""
        if not application.is_over or application.name not in application.queue.applications:
            return
        queue = application.queue
        queue.remove_pending(application.pending)
        queue.release(plus(application.allocated, application.placeholders))
        for allocation in application.allocations.values():
            if allocation.is_preempted:
                queue.remove_preempting(allocation.amounts)
        for _, request in application.in_order:
            self.pending_requests.discard(request)
        self.pending_requests.gangs.discard(application.name)
        queue.forget(application.name)
        self.applications.pop(application.name, None)

    def requests(self) -> Iterator[Allocation]:
        """Yield the pending requests."""
        for application in self.applications.values():
            for _, request in application.in_order:
                yield request


def _released(application: Application) -> list[Allocation]:
    """Mark the placeholders that are not being replaced as released, and return them."""
    found: list[Allocation] = []
    for allocation in application.allocations.values():
        if allocation.is_placeholder and not allocation.is_released and not allocation.is_preempted:
            allocation.is_released = True
            found.append(allocation)
    return found
