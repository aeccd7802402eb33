"""One step of YuniKorn's scheduler, which allocates at most one request.

Reservations come first, then the replacement of placeholders, then other requests, queue by queue in their order.
Source: yunikorn-core pkg/scheduler (context.go, schedule; partition.go) and pkg/scheduler/objects (queue.go,
application.go) at be3bb487.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from apportion_runtime.engines.yunikorn.allocations import Allocation
from apportion_runtime.engines.yunikorn.amounts import Amounts, fits, fits_limits, is_zero, minus, minus_existing
from apportion_runtime.engines.yunikorn.applications import Application, Phase
from apportion_runtime.engines.yunikorn.attempts import (
    MOST_PREEMPTIONS,
    RESERVATION_DELAY_S,
    RESERVATION_TIMEOUT_S,
    Attempts,
    note_postponed,
)
from apportion_runtime.engines.yunikorn.fitting_nodes import Shape
from apportion_runtime.engines.yunikorn.nodes import Node
from apportion_runtime.engines.yunikorn.partition import Eviction, Partition
from apportion_runtime.engines.yunikorn.preemption import Preemptor, may_preempt
from apportion_runtime.engines.yunikorn.queue_order import ordered_applications, ordered_queues
from apportion_runtime.engines.yunikorn.queues import Queue
from apportion_runtime.engines.yunikorn.required_node import cancel_reservations, victims_on_required_node

NO_NODE = "no node has enough free resources"


class Outcome(enum.Enum):
    """The outcome of a step."""

    ALLOCATED = enum.auto()
    REPLACED = enum.auto()
    """A placeholder is released for a request."""
    RESERVED = enum.auto()
    UNRESERVED = enum.auto()
    BLOCKED = enum.auto()
    """A pod cannot reserve the only node on which it may run, and nothing after it is tried."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step: its outcome, the request, and its node."""

    outcome: Outcome
    request: Allocation
    node: Node


def run_step(partition: Partition, now: float) -> Step | None:
    """Run one step; return None if nothing can be changed now.

    A queue attempts a limited number of preemptions in one step: as YuniKorn does, it continues with the next requests,
    after placeholders that are too small have been removed. A pod of a DaemonSet that cannot reserve its node cancels other
    reservations there, which are made again, in YuniKorn for as long as the pod waits: here, until they recur.
    """
    while True:
        n_attempts = partition.n_attempts
        step = _Stepper(partition, now).run()
        if step is not None and step.outcome is Outcome.BLOCKED:
            if not partition.recurs(now):
                continue
            step = None
        elif step is not None and step.outcome is not Outcome.RESERVED:
            partition.forget_reservations()
        if step is not None or partition.expired or partition.n_attempts == n_attempts:
            if step is None:
                note_postponed(partition, now)
            return step


class _Stepper:
    def __init__(self, partition: Partition, now: float) -> None:
        self._partition = partition
        self._nodes = partition.nodes
        self._predicates = partition.predicates
        self._now = now
        self._attempts = Attempts(partition, now)
        self._failed: set[tuple[str, Shape, int, bool]] = set()
        """Queues, amounts and priorities of requests for which a search for victims failed."""

    def run(self) -> Step | None:
        root = self._partition.root
        if root.maximum is None or not root.has_pending:
            return None
        if self._attempts.are_settled():
            return None
        return self._reserved(root) or self._replaced(root) or self._allocated(root)

    def _reserved(self, queue: Queue) -> Step | None:
        """Allocate a request that has a reservation (TryReservedAllocate)."""
        if not queue.is_leaf:
            return next(filter(None, map(self._reserved, ordered_queues(queue))), None)
        if not queue.reserved or self._attempts.are_reservations_idle(queue):
            return None
        headroom = queue.headroom()
        for name in list(queue.reserved):
            application = queue.applications.get(name)
            if application is None:
                return None
            if application.phase is Phase.ACCEPTED and not self._can_run(application):
                continue
            step = self._with_reservation(application, headroom)
            if step is not None:
                self._started(application)
                return step
        return None

    def _with_reservation(self, application: Application, headroom: Amounts | None) -> Step | None:
        of_user = self._user_headroom(application)
        for node, request, since in list(application.reservations.values()):
            if request.is_allocated:
                application.unreserve(request.key)
                return Step(Outcome.UNRESERVED, request, node)
            if not _has_room(request, of_user, headroom):
                if self._now - since > RESERVATION_TIMEOUT_S:
                    application.unreserve(request.key)
                continue
            if request.required_node and not request.has_preempted and not fits(node.available, request.amounts):
                self._make_room(request, node)
                continue
            if self._allocate(request, node):
                application.unreserve(request.key)
                return Step(Outcome.ALLOCATED, request, node)
        for reserved, request, _ in list(application.reservations.values()):
            if request.required_node or not _has_room(request, of_user, headroom):
                continue
            for node in self._nodes.ordered(with_reserved=False):
                if node is reserved or not node.is_schedulable or not fits(node.capacity, request.amounts):
                    continue
                if self._allocate(request, node):
                    application.unreserve(request.key)
                    return Step(Outcome.ALLOCATED, request, node)
        return None

    def _replaced(self, queue: Queue) -> Step | None:
        """Replace a placeholder by a request (TryPlaceholderAllocate)."""
        if not self._partition.pending_requests.gangs:
            return None
        if queue.is_leaf:
            applications = ordered_applications(queue, with_placeholders=True)
            return next(filter(None, map(self._replacement, applications)), None)
        return next(filter(None, map(self._replaced, ordered_queues(queue))), None)

    def _replacement(self, application: Application) -> Step | None:
        if is_zero(application.placeholders):
            return None
        first: tuple[Allocation, Allocation] | None = None
        for request, placeholder in self._swaps(application):
            if any(value < 0 for value in minus(placeholder.amounts, request.amounts).values()):
                # All placeholders of the task group are too small, and are removed one by one.
                placeholder.is_released = True
                self._partition.expired.append(placeholder)
                continue
            first = first or (request, placeholder)
            node = placeholder.node
            if node is not None and self._predicates.fits(request, node) is None:
                return self._swap(request, placeholder, node)
        if first is None:
            return None
        request, placeholder = first
        for node in self._nodes.ordered(with_reserved=False):
            if not node.is_schedulable or not node.can_take(request):
                continue
            if self._predicates.fits(request, node) is None:
                self._nodes.allocate(node, request)
                return self._swap(request, placeholder, node)
        return None

    def _swaps(self, application: Application) -> Iterator[tuple[Allocation, Allocation]]:
        oldest = sorted(application.allocations.values(), key=lambda allocation: allocation.created)
        for _, request in list(application.in_order):
            if request.is_placeholder or not request.task_group:
                continue
            for placeholder in oldest:
                if (
                    placeholder.is_placeholder
                    and not placeholder.is_released
                    and not placeholder.is_preempted
                    and placeholder.task_group == request.task_group
                ):
                    yield request, placeholder

    def _swap(self, request: Allocation, placeholder: Allocation, node: Node) -> Step:
        request.application.take(request)
        request.counterpart, placeholder.counterpart = placeholder, request
        placeholder.is_released = True
        request.node = node
        return Step(Outcome.REPLACED, request, node)

    def _allocated(self, queue: Queue) -> Step | None:
        """Allocate a request (TryAllocate)."""
        if not queue.is_leaf:
            return next(filter(None, map(self._allocated, ordered_queues(queue))), None)
        if self._attempts.is_leaf_idle(queue) or self._attempts.are_postponed(queue):
            return None
        headroom = queue.headroom()
        attempts = [MOST_PREEMPTIONS]
        for application in ordered_applications(queue):
            if application.phase is Phase.ACCEPTED and not self._can_run(application):
                for _, request in application.in_order:
                    request.why = f"application {application.name} is waiting: its queue is already running the maximum number of applications"
                continue
            step = self._attempt(application, headroom, attempts)
            if step is not None:
                self._started(application)
                return step
        return None

    def _attempt(self, application: Application, headroom: Amounts | None, attempts: list[int]) -> Step | None:
        of_user = self._user_headroom(application)
        for _, request in list(application.in_order):
            if application.can_replace(request):
                continue
            if self._attempts.is_idle(request):
                continue
            if not fits_limits(of_user, request.amounts):
                request.why = f"user {application.user} has reached a limit in queue {application.queue.path}"
                continue
            if not fits_limits(headroom, request.amounts):
                step = self._preempted(request, attempts, nodes_tried=False)
                if step is not None:
                    return step
                request.why = _queue_reason(request)
                continue
            if request.required_node:
                step = self._on_required_node(request)
            else:
                step = self._on_nodes(request) or self._preempted(request, attempts, nodes_tried=True)
            if step is not None:
                return step
        return None

    def _on_required_node(self, request: Allocation) -> Step | None:
        """Allocate a request on the only node on which it may run, or reserve that (tryRequiredNode)."""
        application, node = request.application, self._nodes.get(request.required_node)
        if node is None:
            request.why = f"node {request.required_node} does not exist"
            return None
        cancel_reservations(node)
        if self._allocate(request, node):
            application.unreserve(request.key)
            return Step(Outcome.ALLOCATED, request, node)
        request.why = self._predicates.fits(request, node) or f"node {node.name} has not enough free resources"
        if request.key in application.reservations:
            return None
        is_reserved = application.reserve(node, request, self._now)
        return Step(Outcome.RESERVED if is_reserved else Outcome.BLOCKED, request, node)

    def _on_nodes(self, request: Allocation) -> Step | None:
        """Allocate a request on the first node that can take it, or reserve one (tryNodes)."""
        application = request.application
        old = application.reservations.get(request.key)
        best, best_score = None, math.inf
        reasons: dict[str, int] = {}
        first = self._nodes.fitting.first(request.shape)
        if first is not None and self._predicates.fits(request, first) is None:
            return self._placed(request, first)
        for node in self._nodes.ordered(with_reserved=False):
            if not node.is_schedulable or not fits(node.capacity, request.amounts):
                continue
            if node.can_take(request):
                why = self._predicates.fits(request, node)
                if why is None:
                    return self._placed(request, node)
                reasons[why] = reasons.get(why, 0) + 1
            if old is None and self._now - request.created[0] > RESERVATION_DELAY_S:
                score = node.reservation_score(request.amounts)
                if score < best_score:
                    best, best_score = node, score
        request.why = _node_reasons(reasons)
        if best is not None and self._predicates.fits(request, best) is None:
            return self._reserve(request, best)
        return None

    def _placed(self, request: Allocation, node: Node) -> Step:
        self._place(request, node)
        request.application.unreserve(request.key)
        return Step(Outcome.ALLOCATED, request, node)

    def _preempted(self, request: Allocation, attempts: list[int], *, nodes_tried: bool) -> Step | None:
        """Evict for a request, and reserve a node for it (tryPreemption)."""
        delay = request.application.queue.settings.preemption_delay_s
        if not self._partition.preempts or not attempts[0] or not may_preempt(request, delay, self._now):
            return None
        self._partition.pending_requests.checked(request)
        self._attempts.forget()
        attempts[0] -= 1
        self._partition.n_attempts += 1
        # A step ends with its first change.
        question = request.application.queue.path, request.shape, request.priority, nodes_tried
        is_alike = request.key not in request.application.reservations and not self._partition.tries_all
        if is_alike and question in self._failed:
            return None
        preemptor = Preemptor(request, self._nodes, self._predicates, self._now, nodes_tried=nodes_tried)
        found = preemptor.run()
        if not preemptor.is_common:
            self._failed.clear()
        elif found is None and is_alike:
            self._failed.add(question)
        if found is None:
            return None
        self._evict(found.victims, request)
        return self._reserve(request, found.node)

    def _make_room(self, request: Allocation, node: Node) -> None:
        """Evict for a request from the only node on which it may run (tryPreemption of PreemptionContext)."""
        victims = victims_on_required_node(request, node)
        if victims:
            self._partition.n_attempts += 1
            self._evict(victims, request)

    def _evict(self, victims: Sequence[Allocation], request: Allocation) -> None:
        for victim in victims:
            victim.is_preempted = True
            victim.application.queue.add_preempting(victim.amounts)
            self._partition.evictions.append(Eviction(victim, request))
        request.has_preempted = True

    def _reserve(self, request: Allocation, node: Node) -> Step:
        application = request.application
        old = application.reservations.get(request.key)
        if old is None or old[0] is not node:
            application.unreserve(request.key)
            application.reserve(node, request, self._now)
        return Step(Outcome.RESERVED, request, node)

    def _allocate(self, request: Allocation, node: Node) -> bool:
        if not node.can_take(request) or self._predicates.fits(request, node) is not None:
            return False
        self._place(request, node)
        return True

    def _place(self, request: Allocation, node: Node) -> None:
        request.node = node
        self._nodes.allocate(node, request)
        request.application.queue.allocate(request.amounts)
        request.application.take(request)
        request.application.add_allocation(request, self._now)

    def _can_run(self, application: Application) -> bool:
        queue = application.queue
        return queue.can_run(application.name) and self._partition.limits.can_run(
            application.user, queue, application.name
        )

    def _started(self, application: Application) -> None:
        """Count an application with placeholders as running."""
        if application.phase is Phase.ACCEPTED:
            application.queue.start(application.name)

    def _user_headroom(self, application: Application) -> Amounts | None:
        return self._partition.limits.headroom(application.user, application.queue)


def _has_room(request: Allocation, of_user: Amounts | None, headroom: Amounts | None) -> bool:
    return fits_limits(of_user, request.amounts) and fits_limits(headroom, request.amounts)


def reason(partition: Partition, request: Allocation) -> str:
    """Return why a request is not placed in a partition without placeholders and limits, once no step changes anything."""
    if not fits_limits(request.application.queue.headroom(), request.amounts):
        return _queue_reason(request)
    if partition.nodes.fitting.first(request.shape) is None:
        return NO_NODE
    return _node_reasons(_reasons(partition, request))


def _reasons(partition: Partition, request: Allocation) -> dict[str, int]:
    """Return the number of nodes with room for a request on which its pod may not run, by the reason."""
    reasons: dict[str, int] = {}
    for node in partition.nodes.ordered(with_reserved=False):
        if node.is_schedulable and fits(node.capacity, request.amounts) and node.can_take(request):
            why = partition.predicates.fits(request, node)
            if why is not None:
                reasons[why] = reasons.get(why, 0) + 1
    return reasons


def _queue_reason(request: Allocation) -> str:
    for queue in request.application.queue.upward():
        if not fits_limits(minus_existing(queue.maximum, queue.allocated), request.amounts):
            return f"queue {queue.path} has reached its maximum resources" if queue.parent else NO_NODE
    return NO_NODE


def _node_reasons(reasons: dict[str, int]) -> str:
    counted = ", ".join(f"{count} {why}" for why, count in sorted(reasons.items()))
    return counted or NO_NODE
