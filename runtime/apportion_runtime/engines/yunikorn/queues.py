"""Queues: their settings, usage, headroom, and the running applications that they count.

Source: yunikorn-core pkg/scheduler/objects/queue.go at be3bb487.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from apportion_runtime.engines.yunikorn.amounts import Amounts, is_positive, least, minus, minus_existing, plus, pruned

if TYPE_CHECKING:
    from apportion_runtime.engines.yunikorn.allocations import Allocation
    from apportion_runtime.engines.yunikorn.applications import Application

DEFAULT, FENCE, DISABLED = "default", "fence", "disabled"
FIFO, FAIR = "fifo", "fair"
NO_PRIORITY, HIGHEST_PRIORITY = -(2**31), 2**31 - 1
"""The priority of a queue without requests, and the highest."""


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """The settings of a queue, with what it inherits.

    Attributes:
        guaranteed: Its guarantee; None if it has none.
        maximum: Its maximum; None if it has none.
        max_applications: The number of its running applications; 0 is unlimited.
        sort_policy: The order of its applications, or of its child queues.
        sorts_by_priority: Whether priority comes first in that order.
        priority_policy: `fence` if its offset replaces the priority of its pods outside of it.
        priority_offset: Added to that priority, or, with a fence, in its place.
        preemption_policy: `fence` if its pods preempt only within it, `disabled` if its pods are not preempted.
        preemption_delay_s: How long a request waits before it preempts.
    """

    guaranteed: Amounts | None = None
    maximum: Amounts | None = None
    max_applications: int = 0
    sort_policy: str = FIFO
    sorts_by_priority: bool = True
    priority_policy: str = DEFAULT
    priority_offset: int = 0
    preemption_policy: str = DEFAULT
    preemption_delay_s: float = 30.0


@dataclass(frozen=True, slots=True)
class QueueOrder:
    """The child queues with pending requests in order, and all that decides about it."""

    queues: Sequence[Queue]
    capacity: Amounts | None
    children: Sequence[tuple[Amounts, Amounts, int]]
    """What each child uses, its pending requests, and its priority."""


@dataclass(slots=True, eq=False)
class Queue:
    """A queue.

    Attributes:
        name: Its name in lower case.
        parent: The queue above; None for the root.
        is_leaf: Whether it has applications instead of child queues.
        settings: Its settings.
        maximum: Its maximum; that of the root is the capacity of the nodes.
    """

    name: str
    parent: Queue | None
    is_leaf: bool
    settings: QueueSettings
    path: str = ""
    maximum: Amounts | None = None
    children: dict[str, Queue] = field(default_factory=dict[str, "Queue"])
    applications: dict[str, Application] = field(default_factory=dict[str, "Application"])
    allocated: Amounts = field(default_factory=dict[str, int])
    pending: Amounts = field(default_factory=dict[str, int])
    preempting: Amounts = field(default_factory=dict[str, int])
    n_running: int = 0
    starting: set[str] = field(default_factory=set[str])
    """Accepted applications with placeholders, which count as running."""
    reserved: dict[str, int] = field(default_factory=dict[str, int])
    """The number of reservations by application."""
    priority: int = NO_PRIORITY
    """The highest priority of its requests, as its parent sees it."""
    priorities: dict[str, int] = field(default_factory=dict[str, int])
    order: QueueOrder | None = None
    """The order of its child queues when they were sorted last."""
    victim_order: list[Allocation] | None = None
    """Its allocations in the order of victims, among them some that are gone; None if any was added since."""

    def __post_init__(self) -> None:
        self.path = self.name if self.parent is None else f"{self.parent.path}.{self.name}"
        self.maximum = self.settings.maximum
        if self.parent is not None:
            self.parent.children[self.name] = self

    @property
    def guaranteed(self) -> Amounts | None:
        """The queue's guarantee."""
        return self.settings.guaranteed

    def upward(self) -> Iterator[Queue]:
        """Yield the queue and its ancestors, the root last."""
        queue: Queue | None = self
        while queue is not None:
            yield queue
            queue = queue.parent

    def headroom(self) -> Amounts | None:
        """Return the amounts that still fit within the maximum of the queue and its ancestors (getHeadRoom)."""
        above = None if self.parent is None else self.parent.headroom()
        if self.maximum is None:
            return above
        return least(minus_existing(self.maximum, self.allocated), above)

    def configured_headroom(self) -> Amounts | None:
        """Return the headroom without the capacity of the nodes (getMaxHeadRoom)."""
        if self.parent is None:
            return None
        above = self.parent.configured_headroom()
        return above if self.maximum is None else least(minus_existing(self.maximum, self.allocated), above)

    def effective_maximum(self) -> Amounts | None:
        """Return the smallest maximum of the queue and its ancestors, with the capacity of the nodes (GetMaxResource)."""
        above = None if self.parent is None else self.parent.effective_maximum()
        return least(above, self.maximum)

    def configured_maximum(self) -> Amounts | None:
        """Return the maximum without the capacity of the nodes (GetMaxQueueSet)."""
        return None if self.parent is None else least(self.parent.configured_maximum(), self.maximum)

    def fair_maximum(self) -> Mapping[str, int]:
        """Return the maximum against which usage is compared if there is no guarantee: the nearest one of each resource."""
        if self.parent is None:
            return self.maximum or {}
        above = self.parent.fair_maximum()
        return {**above, **(self.maximum or {})} if above else above

    def add_pending(self, amounts: Amounts) -> None:
        """Count a request, here and above."""
        for queue in self.upward():
            queue.pending = plus(queue.pending, amounts)

    def remove_pending(self, amounts: Amounts) -> None:
        """Stop counting a request, here and above."""
        for queue in self.upward():
            queue.pending = {name: value for name, value in minus(queue.pending, amounts).items() if value > 0}

    def allocate(self, amounts: Amounts) -> None:
        """Count an allocation, here and above."""
        for queue in self.upward():
            queue.allocated = plus(queue.allocated, amounts)

    def release(self, amounts: Amounts) -> None:
        """Stop counting an allocation, here and above."""
        for queue in self.upward():
            queue.allocated = pruned(minus(queue.allocated, amounts))

    def add_preempting(self, amounts: Amounts) -> None:
        """Count an allocation that is being evicted, here and above."""
        for queue in self.upward():
            queue.preempting = plus(queue.preempting, amounts)

    def remove_preempting(self, amounts: Amounts) -> None:
        """Stop counting an allocation that is being evicted, here and above."""
        for queue in self.upward():
            queue.preempting = pruned(minus(queue.preempting, amounts))

    def reserve(self, application: str) -> None:
        """Count a reservation of an application."""
        self.reserved[application] = self.reserved.get(application, 0) + 1

    def unreserve(self, application: str) -> None:
        """Stop counting a reservation of an application."""
        left = self.reserved.pop(application, 0) - 1
        if left > 0:
            self.reserved[application] = left

    def can_run(self, application: str) -> bool:
        """Return whether one more application may run, here and above."""
        for queue in self.upward():
            most = queue.settings.max_applications
            if most and application not in queue.starting and queue.n_running + len(queue.starting) + 1 > most:
                return False
        return True

    def start(self, application: str) -> None:
        """Count an accepted application with placeholders as running, here and above."""
        for queue in self.upward():
            queue.starting.add(application)

    def add_running(self, application: str) -> None:
        """Count a running application, here and above."""
        for queue in self.upward():
            queue.starting.discard(application)
            queue.n_running += 1
            most = queue.settings.max_applications
            if most:
                queue.n_running = min(queue.n_running, most)

    def remove_running(self) -> None:
        """Stop counting a running application, here and above."""
        for queue in self.upward():
            queue.n_running = max(queue.n_running - 1, 0)

    def set_priority(self, child: str, priority: int) -> None:
        """Set the highest priority of an application or a child queue, and update the queues above."""
        self.priorities[child] = priority
        self.update_priority()

    def forget(self, application: str) -> None:
        """Remove an application."""
        self.applications.pop(application, None)
        self.starting.discard(application)
        self.priorities.pop(application, None)
        self.update_priority()

    def update_priority(self) -> None:
        """Recompute the priority, here and above."""
        highest = max(self.priorities.values(), default=NO_PRIORITY)
        settings = self.settings
        if highest == NO_PRIORITY:
            self.priority = NO_PRIORITY
        elif settings.priority_policy == FENCE:
            self.priority = settings.priority_offset
        else:
            self.priority = min(max(highest + settings.priority_offset, NO_PRIORITY), HIGHEST_PRIORITY)
        if self.parent is not None:
            self.parent.set_priority(self.name, self.priority)

    @property
    def has_pending(self) -> bool:
        """Whether any request below it is pending."""
        return is_positive(self.pending)


def walk(queue: Queue) -> Iterator[Queue]:
    """Yield a queue and its descendants, parents first."""
    yield queue
    for child in queue.children.values():
        yield from walk(child)
