"""Koordinator's division of a resource among siblings, checked step by step.

Implemented from the engine's rule, independent of the model's division. Numbers are integers.

Source: koordinator-sh/koordinator pkg/scheduler/plugins/elasticquota/core at a7a1b76b (runtime_quota_calculator.go,
group_quota_manager.go).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apportion_review.shares.division_records import Claim, Division, DivisionInputs, Number, Setting
from apportion_review.shares.step_walk import RefusedStepError, StepWalk


@dataclass(frozen=True, slots=True)
class _Quota:
    name: str
    least: int
    request: int
    weight: int
    lends: bool


def requests_of(inputs: DivisionInputs) -> Mapping[str, Mapping[str, Setting]]:
    """Return the request of each quota to its parent: that of its own pods and children, at most its max.

    A quota that does not lend requests at least its min.
    """
    children = inputs.children()
    found: dict[str, int] = {}
    for claim in reversed(inputs.claims):
        below = sum(found[child.name] for child in children.get(claim.name, ()))
        least, most, own = (claim.numbers[key] for key in ("min", "max", "ownRequest"))
        asked = int(own or 0) + below
        if not claim.numbers["lends"]:
            asked = max(asked, int(least or 0))
        found[claim.name] = asked if most is None else min(asked, int(most))
    return {name: {"request": request} for name, request in found.items()}


def check_koordinator(division: Division, settings: Mapping[str, Number]) -> None:
    """Check a division. Raises `RefusedStepError`."""
    total = _whole("total", division.total)
    quotas = [_quota(claim) for claim in division.claims]
    walk = StepWalk(division)
    for quota in quotas:
        is_beyond = quota.request > quota.least
        kept = quota.least if is_beyond or not quota.lends else quota.request
        walk.gives(quota.name, "guaranteed", 0, kept)
    open_ = [quota for quota in quotas if quota.request > quota.least]
    left = total - _sum(walk)
    number = 0
    while left > 0 and any(quota.weight > 0 for quota in open_):
        number += 1
        walk.opens(0, number, left, {quota.name: quota.weight for quota in open_})
        for name, amount in _parts(left, open_):
            walk.gives(name, "surplus", number, amount)
        for quota in open_:
            walk.gives(quota.name, "returned", number, min(0, quota.request - int(walk.held[quota.name])))
        open_ = [quota for quota in open_ if walk.held[quota.name] < quota.request]
        left = total - _sum(walk)
    walk.ends(total - _sum(walk))


def _quota(claim: Claim) -> _Quota:
    least, request, weight = (int(claim.numbers[key] or 0) for key in ("min", "request", "weight"))
    return _Quota(claim.name, least, request, weight, bool(claim.numbers["lends"]))


def _sum(walk: StepWalk) -> int:
    return sum(int(amount) for amount in walk.held.values())


def _parts(left: int, quotas: Sequence[_Quota]) -> list[tuple[str, int]]:
    """Return integer parts by weight; units left by rounding go to the largest fractions, with ties broken by name."""
    weights = {quota.name: max(quota.weight, 0) for quota in quotas}
    whole = sum(weights.values())
    parts = {name: left * weight // whole for name, weight in weights.items()}
    rest = left - sum(parts.values())
    by_fraction = sorted((-(left * weight % whole), name) for name, weight in weights.items() if weight)
    favoured = {name for _, name in by_fraction[:rest]}
    return [(name, part + (name in favoured)) for name, part in parts.items()]


def _whole(field: str, value: Number) -> int:
    if not isinstance(value, int):
        raise RefusedStepError(f"{field} is {value}, which is not a whole number")
    return value
