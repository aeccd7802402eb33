"""The nodes that fit requests of one size, updated by the nodes that changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from apportion_runtime.engines.yunikorn.amounts import Amounts, fits

if TYPE_CHECKING:
    from apportion_runtime.engines.yunikorn.nodes import Node

Shape = tuple[tuple[str, int], ...]
"""Amounts in order of their names: requests with the same shape fit on the same nodes."""
_MOST_CHANGES = 100_000


@dataclass(slots=True)
class _OfShape:
    """The nodes that fitted a shape when they last changed, by place, and the number of changes that were read.

    A node that joined again under its name may have the place of the former one: a number precedes the node.
    """

    amounts: Amounts
    heap: list[tuple[tuple[float, str], int, Node]]
    n_read: int


class FittingNodes:
    """The free nodes of a partition.

    Args:
        nodes: All nodes by name.
        changes: Each node whose resources, reservations or schedulability changed; cleared here once it is long.
    """

    def __init__(self, nodes: dict[str, Node], changes: list[Node]) -> None:
        self._nodes = nodes
        self._changes = changes
        self._shapes: dict[Shape, _OfShape] = {}
        self._open: dict[str, None] = {}
        self._ready: dict[str, Node] = {}
        self._n_read = 0

    def first(self, shape: Shape) -> Node | None:
        """Return the first node in the order of nodes with room for a shape: a schedulable one without reservations."""
        known = self._known(shape)
        heap, amounts = known.heap, known.amounts
        while heap:
            place, _, node = heap[0]
            if node.place == place and self._nodes.get(node.name) is node and _takes(node, amounts):
                return node
            heappop(heap)
        return None

    def _known(self, shape: Shape) -> _OfShape:
        changes = self._changes
        if len(changes) > _MOST_CHANGES:
            self._read()
            changes.clear()
            self._shapes.clear()
            self._n_read = 0
        known = self._shapes.get(shape)
        if known is None or len(changes) - known.n_read > len(self._nodes):
            amounts = dict(shape)
            heap = [(node.place, 0, node) for node in self._nodes.values() if _takes(node, amounts)]
            heapify(heap)
            known = self._shapes[shape] = _OfShape(amounts, heap, len(changes))
        elif known.n_read < len(changes):
            for number, node in enumerate(dict.fromkeys(changes[known.n_read :]), known.n_read + 1):
                if _takes(node, known.amounts):
                    heappush(known.heap, (node.place, number, node))
            known.n_read = len(changes)
        return known

    @property
    def has_open(self) -> bool:
        """Whether any schedulable node has no reservation, even if it is full."""
        self._read()
        return bool(self._open)

    @property
    def ready(self) -> Mapping[str, Node]:
        """The nodes with room for a request that has a reservation for them."""
        self._read()
        return self._ready

    def _read(self) -> None:
        if self._n_read == len(self._changes):
            return
        for name in dict.fromkeys(node.name for node in self._changes[self._n_read :]):
            node = self._nodes.get(name)
            self._open.pop(name, None)
            self._ready.pop(name, None)
            if node is None:
                continue
            if node.is_schedulable and not node.reservations:
                self._open[name] = None
            if any(fits(node.available, request.amounts) for request in node.reservations.values()):
                self._ready[name] = node
        self._n_read = len(self._changes)


def _takes(node: Node, amounts: Amounts) -> bool:
    return (
        node.is_schedulable and not node.reservations and fits(node.available, amounts) and fits(node.capacity, amounts)
    )
