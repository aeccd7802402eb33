"""Properties of shares on each engine: capacity, guarantees, weights; and effects of rounding (docs/review.md)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion_review.shares.division_records import ClaimInputs, DivisionInputs, Number
from apportion_review.shares.engine_shares import proof_of
from apportion_review.shares.records import Demand

from .share_trees import DIVIDING, RESERVING, division_inputs

pytestmark = pytest.mark.property
GUARANTEE = {"kai": "deserved", "koordinator": "min"}
REQUEST = {"kai": "request", "koordinator": "ownRequest"}


def _siblings(engine: str, total: int, *queues: tuple[int, int, int]) -> DivisionInputs:
    """Return queues `a`, `b`, … with a guarantee, a weight and a request each, on the given number of GPUs."""
    claims: list[ClaimInputs] = []
    for name, (guaranteed, weight, request) in zip("abcdef", queues, strict=False):
        if engine == "kai":
            numbers = {"deserved": float(guaranteed), "limit": -1.0, "weight": float(weight), "request": float(request)}
            made = ClaimInputs(name, name, None, {**numbers, "priority": 100, "created": 0.0, "usage": 0.0})
        else:
            own = {"min": guaranteed, "max": None, "weight": weight, "ownRequest": request}
            made = ClaimInputs(name, name, None, {**own, "lends": True})
        claims.append(made)
    whole = float(total) if engine == "kai" else total
    return DivisionInputs(engine, "gpu", whole, {"kValue": 1.0} if engine == "kai" else {}, tuple(claims))


def _shares(inputs: DivisionInputs) -> dict[str, Number]:
    divisions = proof_of("head", Demand.EVERYONE, inputs).divisions
    return {claim.name: claim.share for division in divisions for claim in division.claims}


_QUEUE = st.tuples(st.integers(0, 4), st.integers(1, 5), st.integers(0, 12))
_QUEUES = st.lists(_QUEUE, min_size=2, max_size=6)


@pytest.mark.parametrize("engine", DIVIDING)
@settings(max_examples=300)
@given(queues=_QUEUES, total=st.integers(0, 30))
def test_shares_cover_guarantees_and_fit(engine: str, queues: list[tuple[int, int, int]], total: int) -> None:
    inputs = _siblings(engine, total, *queues)
    shares = _shares(inputs)
    promised = {name: min(g, request) for name, (g, _, request) in zip("abcdef", queues, strict=False)}
    requests = {name: request for name, (_, _, request) in zip("abcdef", queues, strict=False)}
    assert all(promised[name] <= share <= requests[name] for name, share in shares.items())
    if sum(promised.values()) <= total:
        assert sum(shares.values()) == min(total, sum(requests.values()))


@pytest.mark.parametrize("engine", DIVIDING)
@settings(max_examples=300)
@given(queues=_QUEUES, parts=st.integers(1, 4))
def test_unrounded_shares_are_monotonic(engine: str, queues: list[tuple[int, int, int]], parts: int) -> None:
    """The surplus satisfies no request, and is a multiple of the sum of weights: each part is whole."""
    queues = [(g, weight, 1000) for g, weight, _ in queues]
    weights = sum(weight for _, weight, _ in queues)
    guaranteed = sum(g for g, _, _ in queues)
    before = _shares(_siblings(engine, guaranteed + parts * weights, *queues))
    more = _shares(_siblings(engine, guaranteed + (parts + 1) * weights, *queues))
    assert all(more[name] == before[name] + weight for name, (_, weight, _) in zip("abcdef", queues, strict=False))
    first, *others = queues
    heavier = [(first[0], first[1] + 1, 1000), *others]
    whole = parts * weights * (weights + 1)
    low, high = (_shares(_siblings(engine, guaranteed + whole, *each))["a"] for each in (queues, heavier))
    assert high >= low


@pytest.mark.parametrize(
    ("engine", "queues", "total", "before", "after"),
    [
        ("kai", ((0, 4, 5), (0, 4, 4), (0, 1, 1)), 3, (1, 1, 1), (2, 2, 0)),
        ("koordinator", ((0, 1, 5), (1, 4, 8), (0, 4, 3)), 4, (1, 2, 1), (0, 3, 2)),
    ],
)
def test_rounding_may_lower_a_share_when_capacity_grows(
    engine: str, queues: tuple[tuple[int, int, int], ...], total: int, before: tuple[int, ...], after: tuple[int, ...]
) -> None:
    inputs = _siblings(engine, total, *queues)
    assert tuple(_shares(inputs).values()) == before
    assert tuple(_shares(replace(inputs, total=inputs.total + 1)).values()) == after


@pytest.mark.parametrize(
    ("engine", "queues", "total", "heavier", "before", "after"),
    [
        ("kai", ((0, 1, 5), (1, 2, 2), (1, 4, 5)), 6, 2, (0, 2, 4), (1, 2, 3)),
        ("koordinator", ((0, 4, 8), (1, 4, 2), (1, 1, 4)), 8, 0, (5, 2, 1), (4, 2, 2)),
    ],
)
def test_rounding_may_lower_a_share_when_its_weight_grows(
    engine: str,
    queues: tuple[tuple[int, int, int], ...],
    total: int,
    heavier: int,
    before: tuple[int, ...],
    after: tuple[int, ...],
) -> None:
    changed = [(g, weight + (n == heavier), request) for n, (g, weight, request) in enumerate(queues)]
    assert tuple(_shares(_siblings(engine, total, *queues)).values()) == before
    assert tuple(_shares(_siblings(engine, total, *changed)).values()) == after


@pytest.mark.parametrize("engine", RESERVING)
@settings(max_examples=200)
@given(data=st.data())
def test_reserved_guarantees_are_not_shared(engine: str, data: st.DataObject) -> None:
    """A share covers the guarantee, leaves the siblings' guarantees, and is within request and limit."""
    inputs = data.draw(division_inputs(engine))
    for division in proof_of("head", Demand.EVERYONE, inputs).divisions:
        assured = {claim.name: int(claim.numbers["assured"] or 0) for claim in division.claims}
        for claim in division.claims:
            request, bound = claim.numbers["request"], claim.numbers["bound"]
            others = sum(assured.values()) - assured[claim.name]
            assert assured[claim.name] <= claim.share <= int(request or 0)
            assert bound is None or claim.share <= bound
            assert claim.share == assured[claim.name] or claim.share + others <= division.total


@pytest.mark.parametrize("engine", RESERVING)
@settings(max_examples=200)
@given(data=st.data())
def test_shares_are_monotonic_with_reserved_guarantees(engine: str, data: st.DataObject) -> None:
    inputs = data.draw(division_inputs(engine))
    before, after = _shares(inputs), _shares(replace(inputs, total=inputs.total + 1))
    assert all(after[name] >= share for name, share in before.items())
