"""Usable amounts of queues on Volcano, ACK and YuniKorn, checked step by step.

Implemented from the engines' rules, independent of the models that compute shares. Numbers are integers.

Source: volcano-sh/volcano pkg/scheduler/plugins/capacity/capacity.go at ed72c7c81 (checkHierarchicalQueue);
koordinator-sh/koord-queue pkg/framework/plugins/elasticquota at 298e9a8c; apache/yunikorn-core
pkg/scheduler/objects/preemption.go at be3bb487.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from apportion_review.shares.division_records import Division, DivisionInputs, Number, Setting
from apportion_review.shares.step_walk import RefusedStepError, StepWalk

Numbers = Mapping[str, Setting]
_YUNIKORN_NO_BOUND = 2**63 - 1


def check_reservation(division: Division, settings: Mapping[str, Number]) -> None:
    """Check the usable amounts of the queues of a level. Raises `RefusedStepError`."""
    if not isinstance(division.total, int):
        raise RefusedStepError(f"total is {division.total}, which is not a whole number")
    walk = StepWalk(division)
    given = {claim.name: _count(claim.numbers, "assured") for claim in division.claims}
    for name, assured in given.items():
        walk.gives(name, "guaranteed", 0, assured)
    for claim in division.claims:
        free = division.total
        for other in division.claims:
            free -= given[other.name] if other is claim else max(given[other.name], _count(other.numbers, "kept"))
        wanted = _count(claim.numbers, "request") - given[claim.name]
        walk.gives(claim.name, "available", 0, max(0, min(free, wanted)))
    walk.ends(max(0, division.total - sum(given.values())))


def volcano_numbers(inputs: DivisionInputs) -> Mapping[str, Numbers]:
    """Return the derived numbers of each Volcano queue.

    The maximum usage of a queue is its capability, or its parent's if it has none, and that of its parent minus the
    guarantees of its siblings; it reclaims up to its deserved amount, or its guarantee if larger. Inner queues do so if
    ancestors are checked.
    """
    children = inputs.children()
    real: dict[str | None, int | None] = {None: None}
    capability: dict[str | None, int | None] = {None: None}
    for claim in inputs.claims:
        above, inherited = real[claim.parent], capability[claim.parent]
        declared = claim.numbers["capability"]
        cap = capability[claim.name] = inherited if declared is None else _count(claim.numbers, "capability")
        limits = [] if cap is None else [cap]
        if above is not None:
            siblings = [each for each in children[claim.parent] if each.name != claim.name]
            guaranteed = sum(_count(each.numbers, "guarantee") for each in siblings)
            own = _count(claim.numbers, "guarantee")
            limits.append(max(above - guaranteed - own, 0) + own)
        real[claim.name] = min(limits) if limits else None

    def assured(numbers: Numbers, below: int | None) -> int:
        if below is not None and not inputs.settings["ancestorReclaimLevel"]:
            return below
        return max(_count(numbers, "deserved"), _count(numbers, "guarantee"))

    return _upwards(inputs, lambda name, _: real[name], assured, lambda numbers, below: 0)


def ack_numbers(inputs: DivisionInputs) -> Mapping[str, Numbers]:
    """Return the derived numbers of each ACK quota: only the `min` of a pod's own quota lets it reclaim."""

    def kept(numbers: Numbers, below: int | None) -> int:
        return max(_count(numbers, "min") - _count(numbers, "lent"), below or 0)

    return _upwards(
        inputs,
        lambda _, numbers: None if numbers["max"] is None else _count(numbers, "max"),
        lambda numbers, below: _count(numbers, "min") if below is None else below,
        kept,
    )


def yunikorn_numbers(inputs: DivisionInputs) -> Mapping[str, Numbers]:
    """Return the derived numbers of each YuniKorn queue: without its own guarantee, those of its children apply."""

    def bound(_: str, numbers: Numbers) -> int | None:
        return None if numbers["max"] in (None, _YUNIKORN_NO_BOUND) else _count(numbers, "max")

    def assured(numbers: Numbers, below: int | None) -> int:
        return below or 0 if numbers["guaranteed"] is None else _count(numbers, "guaranteed")

    return _upwards(inputs, bound, assured, lambda numbers, below: 0)


def _upwards(
    inputs: DivisionInputs,
    bound: Callable[[str, Numbers], int | None],
    assured: Callable[[Numbers, int | None], int],
    kept: Callable[[Numbers, int | None], int],
) -> Mapping[str, Numbers]:
    """Return the request of each queue with its assured and reserved amounts, leaves first.

    Args:
        inputs: The queues.
        bound: Returns the maximum usage of a queue.
        assured: Returns the amount that a queue may reclaim, given the children's; None for a leaf.
        kept: Returns the amount that a queue does not lend, given the children's; None for a leaf.
    """
    below: dict[str | None, list[dict[str, int]]] = {}
    found: dict[str, Numbers] = {}
    for claim in reversed(inputs.claims):
        lower = below.get(claim.name)
        limit = bound(claim.name, claim.numbers)
        request = _count(claim.numbers, "ownRequest") + sum(each["request"] for each in lower or ())
        request = request if limit is None else min(request, limit)
        taken_back = None if lower is None else sum(each["assured"] for each in lower)
        unlent = None if lower is None else sum(max(each["assured"], each["kept"]) for each in lower)
        made = {
            "request": request,
            "assured": min(request, assured(claim.numbers, taken_back)),
            "kept": kept(claim.numbers, unlent),
        }
        below.setdefault(claim.parent, []).append(made)
        found[claim.name] = {**made, "bound": limit}
    return found


def _count(numbers: Numbers, field: str) -> int:
    value = numbers[field]
    if value is None:
        return 0
    if not isinstance(value, int):
        raise RefusedStepError(f"{field} is {value}, which is not a whole number")
    return int(value)
