"""Kueue's division of quota among the children of a cohort, checked step by step.

Implemented from the engine's rule, independent of the model's division. Numbers are integers; a weight is in
billionths.

Source: kubernetes-sigs/kueue v0.18.3, pkg/cache/scheduler/resource_node.go (localQuota, accumulateFromChild,
available), fair_sharing.go (dominantResourceShare), pkg/scheduler/fair_sharing_iterator.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from apportion_review.shares.division_records import Claim, Division, DivisionInputs, Number, Setting
from apportion_review.shares.step_walk import RefusedStepError, StepWalk

_BILLION = 10**9


def quotas_of(inputs: DivisionInputs) -> Mapping[str, Mapping[str, Setting]]:
    """Return the quota of each queue including its children's lent quota, its reserved part, and its capped request."""
    lent: dict[str | None, int] = {}
    asked: dict[str | None, int] = {}
    found: dict[str, dict[str, Setting]] = {}
    for claim in reversed(inputs.claims):
        quota = _count(claim.numbers["nominal"]) + lent.get(claim.name, 0)
        limit = quota if claim.parent is None else None
        if claim.parent is not None and claim.numbers["borrowingLimit"] is not None:
            limit = quota + _count(claim.numbers["borrowingLimit"])
        lends = quota
        if claim.parent is not None and claim.numbers["lendingLimit"] is not None:
            lends = min(quota, _count(claim.numbers["lendingLimit"]))
        request = _count(claim.numbers["ownRequest"]) + asked.get(claim.name, 0)
        request = request if limit is None else min(request, limit)
        lent[claim.parent] = lent.get(claim.parent, 0) + lends
        asked[claim.parent] = asked.get(claim.parent, 0) + max(0, request - (quota - lends))
        found[claim.name] = {"quota": quota, "kept": quota - lends, "request": request}
    return found


@dataclass(frozen=True, slots=True)
class _Borrower:
    name: str
    wanted: int
    weight: Fraction


def check_kueue(division: Division, settings: Mapping[str, Number]) -> None:
    """Check a division. Raises `RefusedStepError`."""
    left = _count(division.total)
    walk = StepWalk(division)
    borrowers: list[_Borrower] = []
    for claim in division.claims:
        request, quota, kept = (_count(claim.numbers[field]) for field in ("request", "quota", "kept"))
        own = min(request, quota)
        walk.gives(claim.name, "guaranteed", 0, own)
        left -= own - kept if own > kept else 0
        if request > quota and division.parent is not None:
            borrowers.append(_Borrower(claim.name, request - quota, _weight(claim)))
    if left > 0 and borrowers:
        if settings["fairSharing"]:
            left = _check_fair(walk, left, borrowers, division)
        else:
            for each in borrowers:
                walk.gives(each.name, "available", 0, min(left, each.wanted))
    walk.ends(left)


def _check_fair(walk: StepWalk, left: int, borrowers: Sequence[_Borrower], division: Division) -> int:
    """Check that no borrowed GPU should have gone to another child first; return the remainder."""
    weights = {claim.name: claim.numbers["weight"] for claim in division.claims}
    walk.opens(0, 1, left, {each.name: weights[each.name] or 0 for each in borrowers})
    given = {each.name: 0 for each in borrowers}
    for step in division.steps:
        if step.phase == "surplus" and step.name in given:
            given[step.name] += _count(step.amount)
    expected = min(left, sum(each.wanted for each in borrowers))
    if sum(given.values()) != expected:
        raise RefusedStepError(f"the total borrowed is {sum(given.values())}, expected {expected}")
    for each in borrowers:
        if not 0 <= given[each.name] <= each.wanted:
            raise RefusedStepError(f"queue {each.name} borrows {given[each.name]}, but may borrow only {each.wanted}")
    last = max((_turn(each, given[each.name]) for each in borrowers if given[each.name]), default=None)
    waiting = [_turn(each, given[each.name] + 1) for each in borrowers if given[each.name] < each.wanted]
    if last is not None and waiting and min(waiting) < last:
        raise RefusedStepError(f"queue {last[2]} borrows a GPU before {min(waiting)[2]}, which is next in order")
    for each in borrowers:
        walk.gives(each.name, "surplus", 1, given[each.name])
    return left - expected


def _turn(borrower: _Borrower, number: int) -> tuple[int, Fraction, str]:
    """Return the sort key of a child's n-th borrowed GPU: in proportion to its weight, weight 0 last, ties by name."""
    if not borrower.weight:
        return 1, Fraction(number), borrower.name
    return 0, number / borrower.weight, borrower.name


def _weight(claim: Claim) -> Fraction:
    return Fraction(round(Fraction(claim.numbers["weight"] or 0) * _BILLION), _BILLION)


def _count(value: Setting) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise RefusedStepError(f"{value} is not a whole number")
    return value
