"""A binary heap with the order of operations of Go's container/heap.

The order of equal or stale items depends on how the heap moves its items, so the engine's decisions can be reproduced
only with the same moves. Source: https://pkg.go.dev/container/heap; scheduler_util/priority_queue.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Heap(Generic[T]):
    """A heap whose comparison may change between operations; `fix` moves an item whose order changed.

    Args:
        less: Whether the first item comes out before the second.
        max_size: Maximum number of items; None is unlimited. The item at that index of the heap is dropped, which need
            not be the last in order.
    """

    __slots__ = ("_less", "_max_size", "items")

    def __init__(self, less: Callable[[T, T], bool], max_size: int | None = None) -> None:
        self._less = less
        self._max_size = max_size
        self.items: list[T] = []

    def __len__(self) -> int:
        return len(self.items)

    def push(self, item: T) -> None:
        """Add an item."""
        items = self.items
        items.append(item)
        if len(items) > 1:
            self._up(len(items) - 1)
        if self._max_size is not None and len(items) > self._max_size:
            self._remove(self._max_size)

    def state(self) -> tuple[list[T], int]:
        """Return the state for `restore`."""
        return list(self.items), len(self.items)

    def restore(self, state: tuple[list[T], int]) -> None:
        """Restore a state that `state` returned."""
        self.items = list(state[0])

    def pop(self) -> T:
        """Remove and return the first item."""
        items = self.items
        last = len(items) - 1
        items[0], items[last] = items[last], items[0]
        self._down(0, last)
        return items.pop()

    def peek(self) -> T:
        """Return the first item."""
        return self.items[0]

    def keeps_first(self) -> bool:
        """Return whether `fix(0)` would leave every item in its place."""
        items, less = self.items, self._less
        if len(items) < 2:
            return True
        first = 2 if len(items) > 2 and less(items[2], items[1]) else 1
        return not less(items[first], items[0])

    def fix(self, i: int) -> None:
        """Move an item whose order changed."""
        if not self._down(i, len(self.items)):
            self._up(i)

    def _remove(self, i: int) -> None:
        items = self.items
        last = len(items) - 1
        if last != i:
            items[i], items[last] = items[last], items[i]
            if not self._down(i, last):
                self._up(i)
        items.pop()

    def _up(self, j: int) -> None:
        items, less = self.items, self._less
        while j > 0:
            i = (j - 1) // 2
            if not less(items[j], items[i]):
                break
            items[i], items[j] = items[j], items[i]
            j = i

    def _down(self, start: int, n: int) -> bool:
        items, less = self.items, self._less
        i = start
        while True:
            left = 2 * i + 1
            if left >= n:
                break
            j = left
            right = left + 1
            if right < n and less(items[right], items[left]):
                j = right
            if not less(items[j], items[i]):
                break
            items[i], items[j] = items[j], items[i]
            i = j
        return i > start
