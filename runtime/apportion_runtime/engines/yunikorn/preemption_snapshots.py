"""Copies of the queues on which victims of a preemption are tried.

Source: yunikorn-core pkg/scheduler/objects (queue.go, FindEligiblePreemptionVictims; preemption.go,
QueuePreemptionSnapshot) at be3bb487.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from apportion_runtime.engines.yunikorn.allocations import Allocation
from apportion_runtime.engines.yunikorn.amounts import (
    Amounts,
    exceeds_common,
    is_at_least_zero,
    least,
    minus,
    minus_existing,
    plus,
)
from apportion_runtime.engines.yunikorn.queues import DISABLED, FENCE, Queue

Snapshots = dict[str, "QueueSnapshot"]
"""By path."""


@dataclass(frozen=True, slots=True, eq=False)
class LeafVictims:
    """The allocations of a queue that may be evicted for a request; most searches read only those on a few nodes.

    Attributes:
        queue: The queue.
        request: The request.
        priority: The highest priority of victims, unless a fence protects none.
        is_fenced: Whether they may have any priority.
    """

    queue: Queue
    request: Allocation
    priority: int
    is_fenced: bool

    def __iter__(self) -> Iterator[Allocation]:
        for application in self.queue.applications.values():
            yield from filter(self._may_leave, application.allocations.values())

    def in_order(self) -> Iterator[Allocation]:
        """Yield them in the order of victims."""
        queue = self.queue
        if queue.victim_order is None:
            everyone = (
                each for application in queue.applications.values() for each in application.allocations.values()
            )
            queue.victim_order = sorted(everyone, key=lambda each: each.victim_order)
        return filter(self.__contains__, queue.victim_order)

    def __contains__(self, allocation: Allocation) -> bool:
        application = allocation.application
        return (
            self.queue.applications.get(application.name) is application
            and application.allocations.get(allocation.key) is allocation
            and self._may_leave(allocation)
        )

    def _may_leave(self, allocation: Allocation) -> bool:
        return (
            not self.request.amounts.keys().isdisjoint(allocation.amounts)
            and not allocation.required_node
            and not allocation.is_released
            and not allocation.is_preempted
            and (self.is_fenced or allocation.priority <= self.priority)
        )


@dataclass(slots=True)
class Trial:
    """How often the usage of any queue changed; what remains of guarantees depends on several queues."""

    n_changes: int = 0


@dataclass(slots=True, eq=False)
class QueueSnapshot:
    """A queue at the time of a preemption.

    Attributes:
        path: Its path.
        parent: The queue above.
        allocated: Its usage, which changes as victims are tried.
        preempting: What is already being evicted.
        guaranteed: Its guarantee.
        victims: The allocations that may be evicted; None if there are none.
        asking: The queue of the request, in the queues that are not above all others.
        trial: The changes of the queues that are tried together.
    """

    path: str
    parent: QueueSnapshot | None
    allocated: dict[str, int]
    preempting: Amounts
    guaranteed: Amounts | None
    victims: LeafVictims | None = None
    asking: QueueSnapshot | None = None
    trial: Trial = field(default_factory=Trial)
    _known: tuple[int, Amounts | None] = (-1, None)

    def add(self, amounts: Amounts) -> None:
        """Add usage, here and above."""
        self.trial.n_changes += 1
        snapshot: QueueSnapshot | None = self
        while snapshot is not None:
            snapshot.allocated = plus(snapshot.allocated, amounts)
            snapshot = snapshot.parent

    def remove(self, amounts: Amounts) -> None:
        """Remove usage, here and above."""
        self.trial.n_changes += 1
        snapshot: QueueSnapshot | None = self
        while snapshot is not None:
            snapshot.allocated = minus(snapshot.allocated, amounts)
            snapshot = snapshot.parent

    def remaining(self) -> Amounts | None:
        """Return what remains of the guarantees of the queue and its ancestors; negative if more is used
        (GetRemainingGuaranteedResource).
        """
        n_changes, found = self._known
        if n_changes != self.trial.n_changes:
            found = self._remaining()
            self._known = self.trial.n_changes, found
        return found

    def _remaining(self) -> Amounts | None:
        above = None if self.parent is None else self.parent.remaining()
        if not above and not self.guaranteed:
            return None
        own = minus_existing(self.guaranteed, minus_existing(self.allocated, self.preempting))
        asking = self.asking
        if asking is not None:
            if asking.path == self.path and own:
                return {**(above or {}), **own}
            # A queue above both sides does not pass on what remains of its guarantee, or its children could never
            # evict for each other. The path is compared as text.
            if own and asking.guaranteed and asking.path.startswith(self.path):
                return None
        return least(own, above)


class Copies(dict[str, QueueSnapshot]):
    """Independent copies by path, each made when it is first read; their preempting queue is still that of the original."""

    def __init__(self, originals: Mapping[str, QueueSnapshot]) -> None:
        super().__init__()
        self._originals = originals
        self._trial = Trial()

    def __missing__(self, path: str) -> QueueSnapshot:
        each = self._originals[path]
        parent = None if each.parent is None else self[each.parent.path]
        made = self[path] = QueueSnapshot(
            path,
            parent,
            dict(each.allocated),
            each.preempting,
            each.guaranteed,
            each.victims,
            each.asking,
            self._trial,
        )
        return made


def eligible_victims(request: Allocation) -> Snapshots:
    """Return the queues that matter for a request, with the allocations that may be evicted for it."""
    queue = request.application.queue
    snapshots: Snapshots = {}
    priorities: dict[str, int] = {}
    fence = _fence(queue, priorities, request)
    asking = _snapshot(queue, snapshots, "")
    for each in queue.upward():
        if each.parent is not None:
            snapshots[each.path].asking = asking
    _collect(fence, snapshots, request, priorities, priorities[fence.path], fenced=False)
    kept: set[str] = set()
    for snapshot in snapshots.values():
        if snapshot.victims is not None or snapshot is asking:
            above: QueueSnapshot | None = snapshot
            while above is not None:
                kept.add(above.path)
                above = above.parent
    return {path: snapshot for path, snapshot in snapshots.items() if path in kept}


def _fence(queue: Queue, priorities: dict[str, int], request: Allocation) -> Queue:
    """Return the highest queue within which victims are searched, and the request's priority in the queues up to it."""
    priority = request.priority
    for each in queue.upward():
        offset = each.settings.priority_offset
        priority = offset if each.settings.priority_policy == FENCE else priority + offset
        priorities[each.path] = priority
        maximum = each.effective_maximum()
        is_full = bool(maximum) and not exceeds_common(maximum, plus(each.allocated, request.amounts), or_equal=True)
        if each.parent is None or each.settings.preemption_policy == FENCE or is_full:
            return each
    raise AssertionError("every queue has a root")


def _snapshot(queue: Queue, snapshots: Snapshots, asking: str) -> QueueSnapshot:
    known = snapshots.get(queue.path)
    if known is not None:
        return known
    parent = None if queue.parent is None else _snapshot(queue.parent, snapshots, asking)
    made = snapshots[queue.path] = QueueSnapshot(
        queue.path, parent, dict(queue.allocated), queue.preempting, queue.guaranteed, asking=snapshots.get(asking)
    )
    return made


def _collect(
    queue: Queue,
    snapshots: Snapshots,
    request: Allocation,
    priorities: Mapping[str, int],
    priority: int,
    *,
    fenced: bool,
) -> None:
    asking = request.application.queue.path
    if queue.path == asking:
        return
    if queue.is_leaf:
        _collect_leaf(queue, snapshots, request, priority, fenced=fenced)
        return
    for child in queue.children.values():
        settings = child.settings
        child_fenced = False
        child_priority = priorities.get(child.path)
        if child_priority is None:
            if settings.priority_policy == FENCE:
                if settings.priority_offset > priority:
                    continue
                child_fenced, child_priority = True, priority
            else:
                child_priority = priority - settings.priority_offset
        _collect(child, snapshots, request, priorities, child_priority, fenced=fenced or child_fenced)


def _collect_leaf(queue: Queue, snapshots: Snapshots, request: Allocation, priority: int, *, fenced: bool) -> None:
    if queue.settings.preemption_policy == DISABLED:
        return
    snapshot = _snapshot(queue, snapshots, request.application.queue.path)
    remaining = snapshot.remaining()
    if remaining is None or not is_at_least_zero(remaining):
        victims = LeafVictims(queue, request, priority, fenced)
        if any(True for _ in victims):
            snapshot.victims = victims
            return
    del snapshots[queue.path]
