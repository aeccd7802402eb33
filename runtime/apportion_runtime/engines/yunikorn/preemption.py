"""Preemption for a request of a queue within its guarantee: which allocations are evicted, and the node to reserve.

Victims are searched in queues above their guarantees. For each node, allocations on it are tried until the request would
fit; the node with the fewest victims is chosen. Upstream also requires that what a victim's queue uses beyond its guarantee
is not negative, which by its own definition it never is (GetPreemptableResource); that check is omitted.

Source: yunikorn-core pkg/scheduler/objects (preemption.go, predicates.go) at be3bb487.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import Protocol

from apportion_runtime.engines.yunikorn.allocations import Allocation
from apportion_runtime.engines.yunikorn.amounts import (
    Amounts,
    are_equal,
    exceeds_common,
    fits,
    fits_actual,
    minus_down_to_zero,
    minus_existing,
    plus,
)
from apportion_runtime.engines.yunikorn.nodes import Node, Nodes
from apportion_runtime.engines.yunikorn.pending_requests import RETRY_S
from apportion_runtime.engines.yunikorn.preemption_snapshots import (
    Copies,
    QueueSnapshot,
    Snapshots,
    eligible_victims,
)
from apportion_runtime.engines.yunikorn.queues import Queue

_BATCH = 10
"""The number of nodes that are checked before the search may stop."""
_RESERVED_S = 2 * 3600.0 + 2.0
"""The age from which a request of lower priority loses its reservation to one that preempts."""


class Predicates(Protocol):
    """Decides whether a pod may run on a node, apart from resources."""

    def fits(self, request: Allocation, node: Node) -> str | None:
        """Return why a pod may not run on a node, or None."""
        ...

    def fits_without(self, request: Allocation, node: Node, victims: Sequence[Allocation], start: int) -> int | None:
        """Return the index of the last victim that must leave a node for a pod, from `start`; None if none suffices."""
        ...


@dataclass(frozen=True, slots=True)
class Preemption:
    """The outcome: victims, and the node that is reserved for the request."""

    node: Node
    victims: Sequence[Allocation]


def may_preempt(request: Allocation, delay_s: float, now: float) -> bool:
    """Return whether preemption is attempted for a request now, and remember that (CheckPreconditions)."""
    if not request.may_preempt or request.has_preempted or request.required_node:
        return False
    if now < request.created[0] + delay_s or now < request.checked_at + RETRY_S:
        return False
    request.checked_at = now
    return True


class Preemptor:
    """The search for victims for one request.

    Args:
        request: The request.
        nodes: All nodes.
        predicates: Decides which nodes are possible.
        now: The time.
        nodes_tried: Whether no node had room for the request without a preemption.

    Attributes:
        is_common: Whether its failure is that of every request of the same queue, amounts and priority without a reservation:
            no node was examined further, and no reservation removed.
    """

    def __init__(
        self, request: Allocation, nodes: Nodes, predicates: Predicates, now: float, *, nodes_tried: bool
    ) -> None:
        self._request = request
        self._amounts = request.amounts
        self._path = request.application.queue.path
        self._nodes = nodes
        self._predicates = predicates
        self._now = now
        self._nodes_tried = nodes_tried
        self.is_common = True
        self._snapshots: Snapshots = {}

    def run(self) -> Preemption | None:
        """Return the victims, or None if preemption does not help."""
        if is_beyond_guarantee(self._request.application.queue, self._amounts):
            return None
        # Most searches end here: while pods leave, their nodes are reserved.
        if not any(map(self._may_use, self._nodes)):
            return None
        self._snapshots = eligible_victims(self._request)
        if not self._can_reach_guarantee():
            return None
        possible = self._possible_nodes()
        node, chosen = self._node_victims(possible)
        if node is None:
            return None
        more = self._more_victims(chosen)
        if more is None:
            return None
        fits_already = fits(node.available, self._amounts)
        freed: Amounts = {}
        victims: list[Allocation] = []
        for victim in (*chosen, *more):
            if not fits_already and victim.node is not node:
                continue
            if exceeds_common(self._amounts, freed):
                victims.append(victim)
            freed = plus(freed, victim.amounts)
        if not (chosen or more) or exceeds_common(self._amounts, freed) or any(each.is_released for each in victims):
            return None
        return Preemption(node, victims)

    def _can_reach_guarantee(self) -> bool:
        """Return whether the queue stays within its guarantee with the request, once all victims are gone."""
        if not self._snapshots:
            return False
        copies = Copies(self._snapshots)
        asking = copies[self._path]
        before = asking.remaining()
        if before is not None and fits_actual(before, self._amounts):
            return True
        # With each victim, what remains of the guarantees only grows, so that all of them decide.
        asking.add(self._amounts)
        has_victims = False
        for path, each in self._snapshots.items():
            for victim in each.victims or ():
                has_victims = True
                copies[path].remove(victim.amounts)
        remaining = asking.remaining() if has_victims else None
        return remaining is not None and not _is_below_zero(remaining, self._amounts)

    def _may_use(self, node: Node) -> bool:
        """Return whether a node is possible, or may be once reservations are removed."""
        if not node.is_schedulable or not fits(node.capacity, self._amounts):
            return False
        reservations = node.reservations
        return (
            not reservations or self._request.key in reservations or any(map(self._is_outranked, reservations.values()))
        )

    def _is_outranked(self, other: Allocation) -> bool:
        """Return whether a request loses its reservation to this one."""
        if other.required_node or other.has_preempted:
            return False
        return other.priority < self._request.priority and self._now - other.created[0] > _RESERVED_S

    def _possible_nodes(self) -> list[Node]:
        found: list[Node] = []
        for node in self._nodes.ordered(with_reserved=True):
            is_taken = False
            if node.reservations and self._request.key not in node.reservations:
                is_taken = True
                for other in list(node.reservations.values()):
                    if self._is_outranked(other):
                        other.application.unreserve(other.key)
                        self.is_common = is_taken = False
            if node.is_schedulable and not is_taken and fits(node.capacity, self._amounts):
                found.append(node)
        return found

    def _node_victims(self, possible: Sequence[Node]) -> tuple[Node | None, Sequence[Allocation]]:
        """Return the node with the best victims, and the victims."""
        on_node: dict[str, list[Allocation]] = {}
        for node in possible:
            if victims := list(filter(self._is_victim, node.allocations.values())):
                on_node[node.name] = sorted(victims, key=lambda victim: victim.victim_order)
        checks: list[tuple[int, str, Node, Sequence[Allocation]]] = []
        for node in possible:
            found = self._victims_on(node.available, on_node.get(node.name, ()))
            if found is not None and (found[1] or not self._nodes_tried):
                checks.append((found[0], node.name, node, found[1]))
        checks.sort(key=lambda check: check[:2])
        self.is_common = self.is_common and not checks
        return self._best(checks, on_node)

    def _is_victim(self, allocation: Allocation) -> bool:
        snapshot = self._snapshots.get(allocation.application.queue.path)
        return snapshot is not None and snapshot.victims is not None and allocation in snapshot.victims

    def _best(
        self,
        checks: Sequence[tuple[int, str, Node, Sequence[Allocation]]],
        on_node: Mapping[str, Sequence[Allocation]],
    ) -> tuple[Node | None, Sequence[Allocation]]:
        best: tuple[tuple[bool, bool, bool, int], Node, Sequence[Allocation]] | None = None
        for begin in range(0, len(checks), _BATCH):
            for start, _, node, victims in checks[begin : begin + _BATCH]:
                if victims:
                    index = self._predicates.fits_without(self._request, node, victims, start)
                    if index is None:
                        continue
                elif self._predicates.fits(self._request, node) is None:
                    index = -1
                else:
                    continue
                score = _score(index, on_node.get(node.name))
                if best is None or score < best[0]:
                    best = score, node, victims[: index + 1]
            if best is not None and not any(best[0][:3]):
                break
        return (None, ()) if best is None else best[1:]

    def _victims_on(self, available: Amounts, potential: Sequence[Allocation]) -> tuple[int, list[Allocation]] | None:
        """Return the victims on one node in order, and the index of the last one that is needed; None if it cannot take
        the request (calculateVictimsByNode).
        """
        if fits(available, self._amounts):
            return -1, []
        ordered = self._useful_first(available, potential)
        copies = Copies(self._snapshots)
        free, needed, found = dict(available), -1, list[Allocation]()
        for victim in ordered:
            snapshot = copies[victim.application.queue.path]
            remaining = snapshot.remaining()
            if remaining is None or _is_below_zero(remaining, self._amounts):
                snapshot.remove(victim.amounts)
                free = plus(free, victim.amounts)
                if needed < 0 and fits(free, self._amounts):
                    needed = len(found)
                found.append(victim)
        return None if needed < 0 else (needed, found)

    def _useful_first(self, available: Amounts, potential: Sequence[Allocation]) -> list[Allocation]:
        """Return the victims that reduce what is lacking, then the others that may leave."""
        copies = Copies(self._snapshots)
        asking = copies[self._path]
        free, head, tail = dict(available), list[Allocation](), list[Allocation]()
        for victim in potential:
            snapshot = copies[victim.application.queue.path]
            if not self._try(victim, snapshot, asking):
                continue
            if not _has_room(asking, victim):
                snapshot.add(victim.amounts)
                break
            lacking = minus_down_to_zero(self._amounts, free)
            if are_equal(lacking, minus_down_to_zero(self._amounts, plus(free, victim.amounts))):
                snapshot.add(victim.amounts)
                tail.append(victim)
            else:
                asking.add(victim.amounts)
                free = plus(free, victim.amounts)
                head.append(victim)
        return head + tail

    def _more_victims(self, chosen: Sequence[Allocation]) -> Sequence[Allocation] | None:
        """Return further victims with which the queue gets room for the request; None if they do not suffice
        (calculateAdditionalVictims).
        """
        copies = Copies(self._snapshots)
        asking = copies[self._path]
        seen = {victim.key for victim in chosen}
        for victim in chosen:
            copies[victim.application.queue.path].remove(victim.amounts)
        more: list[Allocation] = []
        leaves = [each.victims for each in self._snapshots.values() if each.victims is not None]
        for victim in merge(*(leaf.in_order() for leaf in leaves), key=lambda victim: victim.victim_order):
            if victim.key in seen:
                continue
            snapshot = copies[victim.application.queue.path]
            if not self._try(victim, snapshot, asking):
                continue
            before = asking.remaining()
            if not _has_room(asking, victim):
                snapshot.add(victim.amounts)
                break
            asking.add(victim.amounts)
            if are_equal(before, asking.remaining()):
                asking.remove(victim.amounts)
                snapshot.add(victim.amounts)
            else:
                more.append(victim)
        if not more:
            return more
        remaining = asking.remaining()
        return more if remaining is not None and not _is_below_zero(remaining, self._amounts) else None

    def _try(self, victim: Allocation, snapshot: QueueSnapshot, asking: QueueSnapshot) -> bool:
        """Remove a victim from its queue if the queue is above its guarantee; return whether it was."""
        remaining = snapshot.remaining()
        if remaining is not None and not _is_below_zero(remaining, self._amounts):
            return False
        snapshot.remove(victim.amounts)
        return True


def is_beyond_guarantee(queue: Queue, amounts: Amounts) -> bool:
    """Return whether a queue exceeds its own guarantee with a request, which no victim of other queues changes."""
    if queue.parent is None or not queue.guaranteed:
        return False
    remaining = minus_existing(queue.guaranteed, minus_existing(queue.allocated, queue.preempting))
    return not fits_actual(remaining or {}, amounts)


def _has_room(asking: QueueSnapshot, victim: Allocation) -> bool:
    remaining = asking.remaining()
    return remaining is not None and fits_actual(remaining, victim.amounts)


def _is_below_zero(remaining: Amounts, asked: Amounts) -> bool:
    """Return whether any of the requested resources is used beyond the guarantee."""
    return any(remaining.get(name, 0) < 0 for name in asked)


def _score(index: int, victims: Sequence[Allocation] | None) -> tuple[bool, bool, bool, int]:
    """Return the order of solutions: unfit ones last, then those with pods that do not accept preemption, or with the first
    pod of an application, then by the number of victims.
    """
    if victims is None:
        return True, False, False, 0
    if index < 0:
        return False, False, False, 0
    if index >= len(victims):
        return True, False, False, 0
    needed = victims[: index + 1]
    return (
        False,
        any(not each.may_be_preempted for each in needed),
        any(each.is_originator for each in needed),
        index + 1,
    )
