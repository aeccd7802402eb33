"""The shapes of objects, checked before their values are read: the part of each that a cycle depends on.

A shape is a type, a list of one shape, `MappingOf` for mappings with any keys, or a mapping of the keys that are read.
Null counts as absent, as in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apportion_runtime.snapshots.codec import described_value

Path = tuple[str | int, ...]
_WORDS: Mapping[type, str] = {str: "a string", int: "an integer", float: "a number", bool: "a boolean"}


@dataclass(frozen=True, slots=True)
class MappingOf:
    """A mapping whose values all have one shape."""

    shape: Any


class Amount:
    """A quantity: text or a number."""


_QUANTITIES = (str, int, float)


def shape_mismatch(value: Any, shape: Any) -> tuple[Path, str] | None:
    """Return the path to the first value of a wrong shape, and what is wrong with it; None if there is none."""
    kind = type(shape)
    if kind is dict:
        if type(value) is not dict:
            return (), f"expected a mapping, found {described_value(value)}"
        for key, held in value.items():
            # Values outside the shape are not read.
            below = shape.get(key, object)
            if below is not object and held is not None and type(held) is not below:
                found = shape_mismatch(held, below)
                if found is not None:
                    return (key, *found[0]), found[1]
        return None
    if kind is list:
        return _misshapen_items(value, shape[0])
    return _misshapen_each(value, shape.shape) if kind is MappingOf else _mismatch(value, shape)


def _misshapen_items(value: Any, shape: Any) -> tuple[Path, str] | None:
    if type(value) is not list:
        return (), f"expected a list, found {described_value(value)}"
    # Most items, such as variables of containers, have none of the keys that are read.
    reads_none = shape.keys().isdisjoint if type(shape) is dict else None
    for number, item in enumerate(value):
        if type(item) is shape or (reads_none is not None and type(item) is dict and reads_none(item)):
            continue
        found = shape_mismatch(item, shape)
        if found is not None:
            return (number, *found[0]), found[1]
    return None


def _misshapen_each(value: Any, shape: Any) -> tuple[Path, str] | None:
    if type(value) is not dict:
        return (), f"expected a mapping, found {described_value(value)}"
    types = _QUANTITIES if shape is Amount else (shape,)
    for key, item in value.items():
        if type(key) is not str:
            return (), f"the key `{key}` is not a string; quote it"
        if type(item) not in types:
            found = shape_mismatch(item, shape)
            if found is not None:
                return (key, *found[0]), found[1]
    return None


def _mismatch(value: Any, shape: type) -> tuple[Path, str] | None:
    if shape is Amount:
        fits = isinstance(value, str | int | float) and not isinstance(value, bool)
        return None if fits else ((), f"expected a quantity such as 500m or 16Gi, found {described_value(value)}")
    if shape is object or type(value) is shape or (shape is float and type(value) is int):
        return None
    quote = "; quote it" if shape is str and not isinstance(value, dict | list) else ""
    return (), f"expected {_WORDS[shape]}, found {described_value(value)}{quote}"
