"""Whole units by weight, and the largest of several ratios: what more than one engine's division is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def largest_remainders(total: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Split a total into whole units by weight; units lost to rounding go to the largest remainders, ties by name.

    Args:
        total: Units to split. Nothing is given of a total that is not positive.
        weights: Weight by name. One that is not positive is given nothing.

    Returns:
        Units by name, every name included. They add up to the total, unless nobody has a weight.

    Source:
        Hamilton's method of apportionment; Koordinator pkg/scheduler/plugins/elasticquota/core at a7a1b76b.
    """
    given = dict.fromkeys(weights, 0)
    weighing = {name: weight for name, weight in weights.items() if weight > 0}
    of = sum(weighing.values())
    if total <= 0 or not of:
        return given
    remainders: dict[str, int] = {}
    for name, weight in weighing.items():
        given[name], remainders[name] = divmod(weight * total, of)
    left = total - sum(given.values())
    for name in sorted(remainders, key=lambda name: (-remainders[name], name))[:left]:
        given[name] += 1
    return given


def largest_ratio(ratios: Iterable[tuple[str, float]]) -> tuple[str, float]:
    """Return the name and size of the largest positive ratio, ties by name; an empty name and 0 where there is none."""
    name, size = "", 0.0
    for other, ratio in ratios:
        if ratio > size or (ratio == size and other < name):
            name, size = other, ratio
    return name, size
