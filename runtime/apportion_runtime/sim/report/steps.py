"""Step functions over time: built from intervals, integrated, and downsampled for charts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

Steps = Sequence[tuple[float, float]]
"""Times in order, and the value from each on."""
_DIGITS = 6


def stacked(spans: Iterable[tuple[float, float, float]]) -> list[tuple[float, float]]:
    """Return the total over time of amounts, each for an interval (begin, end, amount)."""
    changes: dict[float, float] = {}
    for since, until, amount in spans:
        changes[since] = changes.get(since, 0.0) + amount
        changes[until] = changes.get(until, 0.0) - amount
    found: list[tuple[float, float]] = []
    level = 0.0
    for at in sorted(changes):
        level += changes[at]
        value = round(level, _DIGITS) + 0.0
        if not found or found[-1][1] != value:
            found.append((at, value))
    return found


def area(steps: Steps, until_s: float) -> float:
    """Return the area below the steps up to the end."""
    ends = [*steps, (until_s, 0.0)]
    return sum(value * max(0.0, following - at) for (at, value), (following, _) in pairwise(ends))


def highest(steps: Steps) -> float:
    """Return the largest value; 0 without values."""
    return max((value for _, value in steps), default=0.0)


def thinned(steps: Steps, until_s: float, most: int) -> list[tuple[float, float]]:
    """Return at most a number of steps with the same area: means of equal intervals if there are more."""
    if len(steps) <= most or until_s <= 0:
        return list(steps)
    width = until_s / most
    areas = [0.0] * most
    for (at, value), (following, _) in pairwise([*steps, (until_s, 0.0)]):
        number, since = min(most - 1, int(at / width)), at
        until = min(following, until_s)
        while since < until:
            edge = until if number == most - 1 else min(until, (number + 1) * width)
            areas[number] += value * max(0.0, edge - since)
            since, number = max(since, edge), min(most - 1, number + 1)
    return [(number * width, total / width) for number, total in enumerate(areas)]
