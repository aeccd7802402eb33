"""Proportional division shared by engines: whole units by weight, and the largest of several ratios."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def largest_remainders(total: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Split a total into whole units by weight; units lost to rounding go to the largest remainders, ties by name.

    Args:
        total: Units to split; a total that is not positive gives 0 to each.
        weights: Weight by name; a weight that is not positive gets 0.

    Returns:
        Units by name, every name included. They add up to the total, unless no weight is positive.

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
    """Return the name and value of the largest positive ratio, ties by name; an empty name and 0 if there is none."""
    name, size = "", 0.0
    for other, ratio in ratios:
        if ratio > size or (ratio == size and other < name):
            name, size = other, ratio
    return name, size
