"""Random queues of engines whose queues have shares of GPUs, and every way to alter one number of a JSON document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from hypothesis import strategies as st

from apportion_review.shares.division_records import ClaimInputs, DivisionInputs, Setting

from .cached_strategies import integers, sampled_from

DIVIDING = ("kai", "koordinator")
RESERVING = ("ack", "volcano", "yunikorn")
ENGINES = (*DIVIDING, "kueue", *RESERVING)
_PARTS = st.integers(0, 320).map(lambda tenths: tenths / 10)
_WHOLE = st.integers(0, 32)


@cache
def _kai_queue() -> st.SearchStrategy[dict[str, Setting]]:
    amounts = _WHOLE.map(float) | _PARTS
    return st.fixed_dictionaries(
        {
            "deserved": st.just(-1.0) | amounts,
            "limit": st.just(-1.0) | amounts,
            "weight": st.sampled_from((0.0, 0.5, 1.0, 2.0, 3.0)),
            "priority": st.sampled_from((50, 100)),
            "request": amounts,
            "created": st.integers(0, 2).map(float),
            "usage": st.just(0.0) | st.floats(0, 1, allow_nan=False),
        }
    )


@cache
def _koordinator_queue() -> st.SearchStrategy[dict[str, Setting]]:
    return st.fixed_dictionaries(
        {
            "min": _WHOLE,
            "max": st.none() | _WHOLE,
            "weight": st.integers(0, 4),
            "lends": st.booleans(),
            "ownRequest": _WHOLE,
        }
    )


@cache
def _kueue_queue() -> st.SearchStrategy[dict[str, Setting]]:
    return st.fixed_dictionaries(
        {
            "nominal": _WHOLE,
            "borrowingLimit": st.none() | _WHOLE,
            "lendingLimit": st.none() | _WHOLE,
            "weight": st.sampled_from((0, 0.3, 0.5, 1, 2, 3)),
            "ownRequest": _WHOLE,
        }
    )


@cache
def _volcano_queue() -> st.SearchStrategy[dict[str, Setting]]:
    amounts = {"deserved": _WHOLE, "guarantee": st.integers(0, 8), "capability": st.none() | _WHOLE}
    return st.fixed_dictionaries({**amounts, "ownRequest": _WHOLE})


@cache
def _ack_queue() -> st.SearchStrategy[dict[str, Setting]]:
    @cache
    def lending(least: int) -> st.SearchStrategy[dict[str, Setting]]:
        lent = st.integers(0, least)
        return st.fixed_dictionaries(
            {"min": st.just(least), "max": st.none() | _WHOLE, "lent": lent, "ownRequest": _WHOLE}
        )

    return _WHOLE.flatmap(lending)


@cache
def _yunikorn_queue() -> st.SearchStrategy[dict[str, Setting]]:
    amounts = {"guaranteed": st.none() | _WHOLE, "max": st.none() | _WHOLE}
    return st.fixed_dictionaries({**amounts, "ownRequest": _WHOLE})


_QUEUES: Mapping[str, Callable[[], st.SearchStrategy[dict[str, Setting]]]] = {
    "ack": _ack_queue,
    "kai": _kai_queue,
    "koordinator": _koordinator_queue,
    "kueue": _kueue_queue,
    "volcano": _volcano_queue,
    "yunikorn": _yunikorn_queue,
}
_SETTINGS: Mapping[str, Mapping[str, st.SearchStrategy[int | float]]] = {
    "kai": {"kValue": st.sampled_from((0.0, 0.5, 1.0))},
    "kueue": {"fairSharing": st.integers(0, 1)},
    "volcano": {"ancestorReclaimLevel": st.integers(0, 2)},
}


@st.composite
def division_inputs(draw: st.DrawFn, engine: str, most: int = 8) -> DivisionInputs:
    """Draw a tree of up to `most` queues, and the amount to divide."""
    queue = _QUEUES[engine]()
    names: list[str | None] = [None]
    claims: list[ClaimInputs] = []
    for number in range(draw(integers(1, most))):
        name = f"queue-{number}"
        claims.append(ClaimInputs(name, f"id-{number}", draw(sampled_from(names)), draw(queue)))
        names.append(name)
    total = draw(_PARTS) if engine == "kai" else draw(_WHOLE)
    if engine == "kueue":
        total = sum(int(claim.numbers["nominal"] or 0) for claim in claims)
    settings = {name: draw(values) for name, values in _SETTINGS.get(engine, {}).items()}
    return DivisionInputs(engine, "gpu", total, settings, tuple(claims))


def altered(document: Any) -> Iterator[tuple[tuple[str | int, ...], object, object]]:
    """Modify each number and flag of a document in turn; yield its path, the original and the modified value."""
    for path, holder, key in _places(document, ()):
        former = holder[key]
        for value in _others(former):
            holder[key] = value
            yield path, former, value
        holder[key] = former


def _others(value: float | bool) -> list[object]:
    if isinstance(value, bool):
        return [not value, int(value)]
    numbers = [value + 1, value - 1, -value, 2 * value + 3, value + 1e-6]
    return [None, True, *(number for number in numbers if number != value)]


def _places(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any, str | int]]:
    pairs: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        pairs = [(str(key), each) for key, each in value.items()]
    elif isinstance(value, list):
        pairs = list(enumerate(value))
    for key, each in pairs:
        if isinstance(each, dict | list):
            yield from _places(each, (*path, key))
        elif isinstance(each, int | float):
            yield (*path, key), value, key
