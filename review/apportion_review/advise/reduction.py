"""Reduction of a change that meets all goals, by bisection: as a whole, by pairs of quotas, and each quota by itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from apportion_review.advise.moves import changed
from apportion_review.advise.problem import Search, Vector

_WHOLE = 1024


def reduced(search: Search, vector: Vector, *, in_pairs: bool = True) -> Vector:
    """Return a vector with a change that cannot be reduced in one of the tried ways.

    Args:
        search: The evaluations.
        vector: A vector that meets all goals.
        in_pairs: Whether to reduce the change as a whole, and pairs of a raised and a lowered quota, as well.
    """
    present = search.problem.present
    if in_pairs:
        vector = _bisected(search, vector, lambda part: between(present, vector, part))
    order = sorted(
        (index for index in range(len(present)) if vector[index] != present[index]),
        key=lambda index: -search.problem.variables[index].weight * abs(vector[index] - present[index]),
    )
    for raised in order if in_pairs else ():
        for lowered in order:
            if vector[raised] > present[raised] and vector[lowered] < present[lowered]:
                vector = _without_pair(search, vector, raised, lowered)
    for index in order:
        vector = _without(search, vector, index)
    return vector


def between(present: Vector, vector: Vector, part: int) -> Vector:
    """Return a part of a change, in 1,024ths."""
    # Units are never given before they are taken, so that the sum stays within the capacity.
    return tuple(p + math.floor((v - p) * part / _WHOLE) for p, v in zip(present, vector, strict=True))


def _bisected(search: Search, vector: Vector, at: Callable[[int], Vector], whole: int = _WHOLE) -> Vector:
    """Return the vector of the smallest part found that meets all goals; `at(whole)` does."""
    low, high = 0, whole
    while high - low > 1:
        middle = (low + high) // 2
        tried = at(middle)
        if tried == at(high):
            high = middle
        elif tried == at(low):
            low = middle
        elif _is_promising(search, tried) and search.meets(tried):
            high = middle
        else:
            low = middle
    return at(high) if high < whole else vector


def _without_pair(search: Search, vector: Vector, raised: int, lowered: int) -> Vector:
    present = search.problem.present
    amount = min(vector[raised] - present[raised], present[lowered] - vector[lowered])

    def kept(part: int) -> Vector:
        back = amount - part
        return changed(vector, {raised: vector[raised] - back, lowered: vector[lowered] + back})

    return _bisected(search, vector, kept, amount)


def _without(search: Search, vector: Vector, index: int) -> Vector:
    change = vector[index] - search.problem.present[index]
    if not change:
        return vector
    sign = 1 if change > 0 else -1
    reset = changed(vector, {index: search.problem.present[index]})
    if _is_promising(search, reset) and search.meets(reset):
        return reset
    return _bisected(
        search, vector, lambda part: changed(vector, {index: vector[index] - sign * (abs(change) - part)}), abs(change)
    )


def _is_promising(search: Search, vector: Vector) -> bool:
    """Return whether no evaluated vector with as much for a goal misses it."""
    helpful: Sequence[Sequence[int]] = search.problem.helpful
    return search.is_valid(vector) and not any(
        excess and search.problem.is_monotonic[goal] and all(run[index] >= vector[index] for index in helpful[goal])
        for run, excesses in search.evaluated().items()
        for goal, excess in enumerate(excesses)
    )
