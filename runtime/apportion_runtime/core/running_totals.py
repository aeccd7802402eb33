"""Running totals and maxima of many values that change one at a time.

The results are those of adding all values in order, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

import numpy as np

_LEAST_ROWS = 16


def added(numbers: Iterable[float]) -> float:
    """Add one by one, as the engine does: from Python 3.12 on `sum` compensates rounding."""
    total = 0.0
    for number in numbers:
        total += number
    return total


class RunningTotal:
    """The sum of rows, added from the first to the last as floats are: a new row is the last."""

    __slots__ = ("_n", "_places", "_rows", "_sums", "_total", "_valid")

    def __init__(self, width: int) -> None:
        self._rows = np.zeros((_LEAST_ROWS, width))
        self._sums = np.zeros((_LEAST_ROWS, width))
        self._places: dict[str, int] = {}
        self._n = self._valid = 0
        self._total: list[float] | None = None

    def put(self, key: str, row: tuple[float, ...]) -> None:
        """Add or replace a row."""
        place = self._places.get(key)
        if place is None:
            if self._n == len(self._rows):
                self._make_room()
            place = self._places[key] = self._n
            self._n += 1
        self._rows[place] = row
        self._valid = min(self._valid, place)
        self._total = None

    def drop(self, key: str) -> None:
        """Remove a row."""
        # A row of zeros adds nothing: the sums of those behind it are the same to the bit.
        place = self._places.pop(key, None)
        if place is not None:
            self._rows[place] = 0.0
            self._valid = min(self._valid, place)
            self._total = None

    def _make_room(self) -> None:
        kept = list(self._places.values())
        rows = np.zeros((max(_LEAST_ROWS, 2 * len(kept)), self._rows.shape[1]))
        rows[: len(kept)] = self._rows[kept]
        self._rows, self._sums = rows, np.zeros_like(rows)
        self._places = {key: place for place, key in enumerate(self._places)}
        self._n, self._valid = len(kept), 0

    def total(self) -> list[float]:
        """Return the sum; the same list until a row changes."""
        if self._total is None:
            self._total = self._added()
        return self._total

    def _added(self) -> list[float]:
        if not self._n:
            return [0.0] * self._rows.shape[1]
        begin = self._valid
        if begin < self._n:
            if begin:
                first = self._rows[begin].copy()
                self._rows[begin] += self._sums[begin - 1]
                np.add.accumulate(self._rows[begin : self._n], axis=0, out=self._sums[begin : self._n])
                self._rows[begin] = first
            else:
                np.add.accumulate(self._rows[: self._n], axis=0, out=self._sums[: self._n])
            self._valid = self._n
        made: list[float] = self._sums[self._n - 1].tolist()
        return made


_LEAST_HEAP = 64
"""A heap of this size is not worth rebuilding."""


class RunningMaximum:
    """The highest of many numbers, each under a key."""

    __slots__ = ("_heap", "_known")

    def __init__(self) -> None:
        self._known: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []

    def put(self, key: str, number: float) -> None:
        """Set the number of a key."""
        if self._known.get(key) != number:
            self._known[key] = number
            heappush(self._heap, (-number, key))
            if len(self._heap) > _LEAST_HEAP + 2 * len(self._known):
                # Numbers that were replaced or dropped stay in the heap until they are the highest.
                self._heap = [(-known, of) for of, known in self._known.items()]
                heapify(self._heap)

    def drop(self, key: str) -> None:
        """Remove a key, if present."""
        self._known.pop(key, None)

    def get(self, default: float) -> float:
        """Return the highest number; the default if there is none."""
        heap: list[tuple[float, str]] = self._heap
        while heap and self._known.get(heap[0][1]) != -heap[0][0]:
            heappop(heap)
        return -heap[0][0] if heap else default
