"""Nodes with their allocations and reservations, and the order in which they are tried.

Source: yunikorn-core pkg/scheduler/objects (node.go, nodesorting.go, node_collection.go) at be3bb487.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING

from apportion_runtime.engines.yunikorn.amounts import Amounts, fits, minus, plus
from apportion_runtime.engines.yunikorn.fitting_nodes import FittingNodes

if TYPE_CHECKING:
    from apportion_runtime.engines.yunikorn.allocations import Allocation

FAIR, BINPACKING = "fair", "binpacking"
DEFAULT_WEIGHTS: Mapping[str, float] = {"vcore": 1.0, "memory": 1.0}


@dataclass(slots=True, eq=False)
class Node:
    """A node.

    Attributes:
        name: Its name.
        capacity: Its allocatable resources.
        is_schedulable: Whether new pods may start; False while it is cordoned.
        occupied: What pods of other schedulers use.
        available: What is free.
        allocations: By key.
        reservations: Requests for which it is kept free, by key.
        score: By which nodes are ordered, the smallest first.
        changes: Receives the node with each change of its resources, reservations or schedulability.
    """

    name: str
    capacity: Amounts
    is_schedulable: bool = True
    occupied: Amounts = field(default_factory=dict[str, int])
    available: dict[str, int] = field(default_factory=dict[str, int])
    allocations: dict[str, Allocation] = field(default_factory=dict[str, "Allocation"])
    reservations: dict[str, Allocation] = field(default_factory=dict[str, "Allocation"])
    score: float = 0.0
    changes: list[Node] = field(default_factory=list["Node"], repr=False)

    def __post_init__(self) -> None:
        self.available = minus(self.capacity, self.occupied)

    @property
    def place(self) -> tuple[float, str]:
        """Its place in the order of nodes."""
        return self.score, self.name

    def occupy(self, occupied: Amounts) -> None:
        """Set what pods of other schedulers use; its place in the order stays until its own allocations change."""
        self.available = minus(plus(self.available, self.occupied), occupied)
        self.occupied = occupied
        self.changes.append(self)

    def set_schedulable(self, is_schedulable: bool) -> None:  # noqa: FBT001 - the value of a field.
        """Set whether new pods may start."""
        if self.is_schedulable != is_schedulable:
            self.is_schedulable = is_schedulable
            self.changes.append(self)

    def reserve(self, request: Allocation) -> None:
        """Keep the node free for a request."""
        self.reservations[request.key] = request
        self.changes.append(self)

    def unreserve(self, key: str) -> None:
        """Remove the reservation of a request."""
        self.reservations.pop(key, None)
        self.changes.append(self)

    def resize(self, capacity: Amounts) -> None:
        """Set the allocatable resources."""
        self.available = plus(minus(self.available, self.capacity), capacity)
        self.capacity = capacity
        self.changes.append(self)

    def can_take(self, request: Allocation) -> bool:
        """Return whether a request fits, and the node is not reserved for another."""
        if self.reservations and request.key not in self.reservations:
            return False
        return fits(self.available, request.amounts)

    def reservation_score(self, amounts: Amounts) -> float:
        """Return the free resources beyond a request; the node with the smallest score is reserved.

        YuniKorn calls FitInScore with its sides exchanged: it measures what is left, instead of what is lacking.
        """
        score = 0.0
        for name, free in self.available.items():
            asked = amounts.get(name, 0)
            if free <= 0:
                continue
            if asked <= 0:
                score += 1.0
            elif free > asked:
                score += float(free - asked) / float(free)
        return score


_place = attrgetter("place")


class Nodes:
    """The nodes of the partition, in the order of their policy.

    Args:
        policy: `fair` tries the least used node first, `binpacking` the most used.
        weights: The weight of each resource in the usage of a node.
    """

    def __init__(self, policy: str = FAIR, weights: Mapping[str, float] | None = None) -> None:
        self._policy = policy
        self._weights = weights or DEFAULT_WEIGHTS
        self._nodes: dict[str, Node] = {}
        self._order: list[Node] | None = None
        self._changes: list[Node] = []
        self.fitting = FittingNodes(self._nodes, self._changes)
        """The nodes with room for requests of one shape."""

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes.values())

    def get(self, name: str) -> Node | None:
        """Return a node."""
        return self._nodes.get(name)

    def add(self, node: Node) -> None:
        """Add a node."""
        self._nodes[node.name] = node
        node.changes = self._changes
        self._order = None
        self.touch(node)

    def remove(self, name: str) -> Node | None:
        """Remove a node."""
        self._order = None
        node = self._nodes.pop(name, None)
        if node is not None:
            self._changes.append(node)
        return node

    def touch(self, node: Node) -> None:
        """Update the place of a node after its allocations or capacity changed; other pods on it do not move it."""
        before, node.score = node.place, self._score(node)
        order = self._order
        if order is not None and before != node.place:
            place = bisect_left(order, before, key=_place)
            if place < len(order) and order[place] is node:
                del order[place]
                insort(order, node, key=_place)
            else:
                self._order = None
        self._changes.append(node)

    def ordered(self, *, with_reserved: bool) -> list[Node]:
        """Return the nodes in the order in which they are tried.

        Args:
            with_reserved: Whether nodes with reservations are included.
        """
        if self._order is None:
            self._order = sorted(self._nodes.values(), key=_place)
        return [node for node in self._order if with_reserved or not node.reservations]

    def allocate(self, node: Node, allocation: Allocation) -> None:
        """Place an allocation on a node."""
        node.allocations[allocation.key] = allocation
        node.available = minus(node.available, allocation.amounts)
        self.touch(node)

    def release(self, node: Node, key: str) -> bool:
        """Remove an allocation from a node; return whether it was there."""
        allocation = node.allocations.pop(key, None)
        if allocation is None:
            return False
        node.available = plus(node.available, allocation.amounts)
        self.touch(node)
        return True

    def _score(self, node: Node) -> float:
        usage = total = 0.0
        for name, capacity in node.capacity.items():
            weight = self._weights.get(name, 0.0)
            if not weight or not capacity:
                continue
            usage += (1.0 - float(node.available.get(name, 0)) / float(capacity)) * weight
            total += weight
        used = usage / total if total else 0.0
        return 1.0 - used if self._policy == BINPACKING else used
