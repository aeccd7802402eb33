"""Volcano's priority queue, with the order of Go's container/heap.

That order matters: the queue order of the capacity plugin is not transitive, because it compares different ancestors for
different pairs, and the shares of queues change while they are in the heap.

Source: pkg/scheduler/util/priority_queue.go, container/heap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class PriorityQueue(Generic[Item]):
    """A heap.

    Args:
        compare: Returns a negative number if the first item comes first.
        items: Items to push, in this order.
    """

    def __init__(self, compare: Callable[[Item, Item], int], items: Iterable[Item] = ()) -> None:
        self._compare = compare
        self._items: list[Item] = []
        for item in items:
            self.push(item)

    def __bool__(self) -> bool:
        return bool(self._items)

    def push(self, item: Item) -> None:
        """Add an item."""
        self._items.append(item)
        at = len(self._items) - 1
        while at and self._is_less(at, above := (at - 1) // 2):
            self._swap(at, above)
            at = above

    def pop(self) -> Item:
        """Remove and return the first item. Raises `IndexError` if there is none."""
        self._swap(0, len(self._items) - 1)
        first, at, size = self._items.pop(), 0, len(self._items)
        while (child := 2 * at + 1) < size:
            if child + 1 < size and self._is_less(child + 1, child):
                child += 1
            if not self._is_less(child, at):
                break
            self._swap(at, child)
            at = child
        return first

    def all(self) -> list[Item]:
        """Remove and return all items in order."""
        return [self.pop() for _ in range(len(self._items))]

    def _is_less(self, one: int, other: int) -> bool:
        return self._compare(self._items[one], self._items[other]) < 0

    def _swap(self, one: int, other: int) -> None:
        self._items[one], self._items[other] = self._items[other], self._items[one]
