"""Copies of the queues on which victims of a preemption are tried.

Source: yunikorn-core pkg/scheduler/objects (queue.go, FindEligiblePreemptionVictims; preemption.go,
QueuePreemptionSnapshot) at be3bb487.
"""

from __future__ import annotations

from collections.abc import Mapping
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


@dataclass(slots=True, eq=False)
class QueueSnapshot:
    """A queue at the time of a preemption.

    Attributes:
        path: Its path.
        parent: The queue above.
        allocated: Its usage, which changes as victims are tried.
        preempting: What is already being evicted.
        guaranteed: Its guarantee.
        victims: The allocations that may be evicted.
        asking: The queue of the request, in the queues that are not above all others.
    """

    path: str
    parent: QueueSnapshot | None
    allocated: dict[str, int]
    preempting: Amounts
    guaranteed: Amounts | None
    victims: list[Allocation] = field(default_factory=list[Allocation])
    asking: QueueSnapshot | None = None

    def add(self, amounts: Amounts) -> None:
        """Add usage, here and above."""
        snapshot: QueueSnapshot | None = self
        while snapshot is not None:
            snapshot.allocated = plus(snapshot.allocated, amounts)
            snapshot = snapshot.parent

    def remove(self, amounts: Amounts) -> None:
        """Remove usage, here and above."""
        snapshot: QueueSnapshot | None = self
        while snapshot is not None:
            snapshot.allocated = minus(snapshot.allocated, amounts)
            snapshot = snapshot.parent

    def remaining(self) -> Amounts | None:
        """Return what remains of the guarantees of the queue and its ancestors; negative if more is used
        (GetRemainingGuaranteedResource).
        """
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


def duplicated(snapshots: Mapping[str, QueueSnapshot]) -> Snapshots:
    """Return independent copies; their preempting queue is still that of the original."""
    copies: Snapshots = {}

    def copy(snapshot: QueueSnapshot) -> QueueSnapshot:
        known = copies.get(snapshot.path)
        if known is None:
            parent = None if snapshot.parent is None else copy(snapshot.parent)
            known = copies[snapshot.path] = QueueSnapshot(
                snapshot.path, parent, dict(snapshot.allocated), snapshot.preempting, snapshot.guaranteed,
                snapshot.victims, snapshot.asking,
            )  # fmt: skip
        return known

    for each in snapshots.values():
        copy(each)
    return copies


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
        if snapshot.victims or snapshot is asking:
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
        snapshot.victims = [
            allocation
            for application in queue.applications.values()
            for allocation in application.allocations.values()
            if not request.amounts.keys().isdisjoint(allocation.amounts)
            and not allocation.required_node
            and not allocation.is_released
            and not allocation.is_preempted
            and (fenced or allocation.priority <= priority)
        ]
    if not snapshot.victims:
        del snapshots[queue.path]
