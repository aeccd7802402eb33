"""The largest value of a number with which a workload starts now, with verified smaller values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_ALL_UP_TO = 32
"""Up to this many smaller values are decided individually; beyond it, the search bisects and verifies a sample."""
_SAMPLE = 24


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest value, 0 if none fits, and the number of smaller values that were verified to fit."""

    value: int
    n_verified: int


def largest(most: int, fits: Callable[[int], bool], least: int = 1) -> Largest:
    """Return the largest value from `least` up to `most` such that it and all verified smaller values fit.

    Up to 32 values are decided in order. Otherwise the search bisects, and then verifies an even sample of the
    smaller values; one that does not fit lowers the result below it.
    """
    if least > 1:
        shifted = largest(most - least + 1, lambda value: fits(value + least - 1))
        return Largest(shifted.value + least - 1, shifted.n_verified) if shifted.value else shifted
    known: dict[int, bool] = {}

    def decided(value: int) -> bool:
        if value not in known:
            known[value] = fits(value)
        return known[value]

    top = most
    while top > _ALL_UP_TO:
        found = top if decided(top) else _bisected(top, decided)
        failing = next((value for value in _sample(found) if not decided(value)), None)
        if failing is None:
            return Largest(found, sum(fit and value < found for value, fit in known.items()))
        top = failing - 1
    value = 0
    while value < top and decided(value + 1):
        value += 1
    return Largest(value, max(0, value - 1))


def _bisected(top: int, decided: Callable[[int], bool]) -> int:
    low, high = 0, top
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if decided(middle) else (low, middle)
    return low


def _sample(value: int) -> list[int]:
    step = max(1, value // _SAMPLE)
    return sorted({*range(1, value, step), *(value - n for n in range(1, 4) if value > n)})
