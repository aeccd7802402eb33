"""Go's `sort.SliceStable`, which an inconsistent comparison makes visible.

YuniKorn compares queues by their place in a slice while it moves them, and by amounts that are not always comparable:
the result depends on the algorithm. Source: Go 1.25 sort/zsortfunc.go (stable_func).
"""

from __future__ import annotations

from collections.abc import Callable

Less = Callable[[int, int], bool]
"""Whether the element at one index comes before that at another."""

_BLOCK = 20


def stable_sort(items: list[object], less: Less) -> None:
    """Sort in place.

    Args:
        items: The list.
        less: The comparison, which looks up the list by index.
    """
    n, size, start = len(items), _BLOCK, 0
    while start + size <= n:
        _insertion(items, less, start, start + size)
        start += size
    _insertion(items, less, start, n)
    while size < n:
        start = 0
        while start + 2 * size <= n:
            _merge(items, less, start, start + size, start + 2 * size)
            start += 2 * size
        if start + size < n:
            _merge(items, less, start, start + size, n)
        size *= 2


def _insertion(items: list[object], less: Less, first: int, end: int) -> None:
    for i in range(first + 1, end):
        j = i
        while j > first and less(j, j - 1):
            items[j], items[j - 1] = items[j - 1], items[j]
            j -= 1


def _merge(items: list[object], less: Less, first: int, middle: int, end: int) -> None:
    if middle - first == 1:
        low, high = middle, end
        while low < high:
            half = (low + high) // 2
            low, high = (half + 1, high) if less(half, first) else (low, half)
        items[first:low] = [*items[first + 1 : low], items[first]]
        return
    if end - middle == 1:
        low, high = first, middle
        while low < high:
            half = (low + high) // 2
            low, high = (half + 1, high) if not less(middle, half) else (low, half)
        items[low : middle + 1] = [items[middle], *items[low:middle]]
        return
    centre = (first + end) // 2
    n = centre + middle
    low, high = (n - end, centre) if middle > centre else (first, middle)
    last = n - 1
    while low < high:
        half = (low + high) // 2
        low, high = (half + 1, high) if not less(last - half, half) else (low, half)
    after = n - low
    if low < middle < after:
        items[low:after] = [*items[middle:after], *items[low:middle]]
    if first < low < centre:
        _merge(items, less, first, low, centre)
    if centre < after < end:
        _merge(items, less, centre, after, end)
