"""Lossless conversion of frozen records to plain data and back, based on their annotations.

Keys are the fields' names in camel case. Default values are omitted.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, cast

from apportion_runtime.core.snapshot import Node, Pod
from apportion_runtime.core.status import BY_NAME, NAMES

Encode = Callable[[Any], Any]
Decode = Callable[[Any], Any]

_EXACT = 2**53
_IRREGULAR: Mapping[tuple[type, str], str] = {(Node, "n_gpus"): "gpuCount"}
_STATUSES: Mapping[tuple[type, str], None] = {(Pod, "status"): None}
_SCALARS: tuple[type, ...] = (str, bool, int, float)


class Malformed(Exception):
    """A value is invalid for its field; `path` is the path to it."""

    def __init__(self, message: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.path = path

    def below(self, key: str | int) -> Malformed:
        """Return the same error with the path from one level above."""
        return Malformed(self.message, (key, *self.path))


def key_of(cls: type, name: str) -> str:
    """Return the key of a field in a document."""
    if (cls, name) in _IRREGULAR:
        return _IRREGULAR[cls, name]
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


@cache
def hints(cls: type) -> Mapping[str, Any]:
    """Return the annotations of a record's fields."""
    return typing.get_type_hints(cls)


def is_status(cls: type, name: str) -> bool:
    """Return whether a field holds the state of a pod, which is written with KAI's name for it."""
    return (cls, name) in _STATUSES


def to_plain(record: object) -> dict[str, Any]:
    """Return a record as plain data."""
    return cast("dict[str, Any]", _encoder(cast("Any", type(record)))(record))


def from_plain(cls: type, data: object) -> Any:
    """Return the record of plain data. Raises `Malformed`."""
    return _decoder(cls)(data)


def default_of(made: Field[Any]) -> Any:
    """Return the default of a field; `MISSING` if it is required."""
    return made.default_factory() if made.default_factory is not MISSING else made.default


@cache
def _encoder(hint: Any) -> Encode:
    if is_dataclass(hint):
        return _record_encoder(cast("type", hint))
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        only = _encoder(_without_none(arguments))
        return lambda value: None if value is None else only(value)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            each = _encoder(arguments[0])
            return lambda value: [each(item) for item in value]
        parts = [_encoder(argument) for argument in arguments]
        return lambda value: [part(item) for part, item in zip(parts, value, strict=True)]
    if origin is frozenset:
        each = _encoder(arguments[0])
        return lambda value: [each(item) for item in sorted(value)]
    if origin is not None and issubclass(origin, Mapping):
        each = _encoder(arguments[1])
        return lambda value: {key: each(value[key]) for key in sorted(value)}
    return _number if hint is float else _same


def _same(value: Any) -> Any:
    return value


def _number(value: float) -> float | int:
    # Whole numbers are more readable without a fraction, and are parsed as the same number.
    return int(value) if value == int(value) and abs(value) < _EXACT else value


def _record_encoder(cls: type) -> Encode:
    made = [
        (f.name, key_of(cls, f.name), default_of(f), NAMES.__getitem__ if is_status(cls, f.name) else None)
        for f in fields(cls)
    ]
    encoders: list[tuple[str, str, Any, Encode]] = []

    def encode(record: Any) -> dict[str, Any]:
        if not encoders:
            # A record may contain records of its own class, so the encoder refers to itself.
            encoders.extend((n, k, d, named or _encoder(hints(cls)[n])) for n, k, d, named in made)
        plain: dict[str, Any] = {}
        for name, key, default, one in encoders:
            value = getattr(record, name)
            if value != default:
                plain[key] = one(value)
        return plain

    return encode


@cache
def _decoder(hint: Any) -> Decode:
    if is_dataclass(hint):
        return _record_decoder(cast("type", hint))
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        only = _decoder(_without_none(arguments))
        return lambda value: None if value is None else only(value)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return _list_decoder(_decoder(arguments[0]), tuple)
        return _row_decoder([_decoder(argument) for argument in arguments])
    if origin is frozenset:
        return _list_decoder(_decoder(arguments[0]), frozenset)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_decoder(_decoder(arguments[1]))
    return {float: _float, int: _int, str: _str, bool: _bool}.get(hint, _scalar)


def _without_none(arguments: tuple[Any, ...]) -> Any:
    (only,) = (argument for argument in arguments if argument is not types.NoneType)
    return only


def _list_decoder(each: Decode, made: Callable[[list[Any]], Any]) -> Decode:
    def decode(value: Any) -> Any:
        if type(value) is not list:
            raise Malformed(f"expected a list, found {described_value(value)}")
        items: list[Any] = []
        for number, item in enumerate(value):
            try:
                items.append(each(item))
            except Malformed as wrong:
                raise wrong.below(number) from None
        return made(items)

    return decode


def _row_decoder(parts: list[Decode]) -> Decode:
    def decode(value: Any) -> Any:
        if type(value) is not list or len(value) != len(parts):
            raise Malformed(f"expected a list of {len(parts)} items, found {described_value(value)}")
        items: list[Any] = []
        for number, (part, item) in enumerate(zip(parts, value, strict=True)):
            try:
                items.append(part(item))
            except Malformed as wrong:
                raise wrong.below(number) from None
        return tuple(items)

    return decode


def _mapping_decoder(each: Decode) -> Decode:
    def decode(value: Any) -> Any:
        if type(value) is not dict:
            raise Malformed(f"expected a mapping, found {described_value(value)}")
        made: dict[str, Any] = {}
        for key, item in value.items():
            if type(key) is not str:
                raise Malformed(f"the key {key!r} is not a string")
            try:
                made[key] = each(item)
            except Malformed as wrong:
                raise wrong.below(key) from None
        return made

    return decode


def _record_decoder(cls: type) -> Decode:
    required = {key_of(cls, f.name): f.name for f in fields(cls) if default_of(f) is MISSING}
    decoders: dict[str, tuple[str, Decode]] = {}

    def decode(value: Any) -> Any:
        if not decoders:
            for f in fields(cls):
                one = _status if is_status(cls, f.name) else _decoder(hints(cls)[f.name])
                decoders[key_of(cls, f.name)] = (f.name, one)
        if type(value) is not dict:
            raise Malformed(f"expected a mapping, found {described_value(value)}")
        made: dict[str, Any] = {}
        for key, item in value.items():
            found = decoders.get(key)
            if found is None:
                near = get_close_matches(str(key), decoders, n=1)
                raise Malformed(f"unknown field `{key}`" + (f"; did you mean `{near[0]}`?" if near else ""), (key,))
            try:
                made[found[0]] = found[1](item)
            except Malformed as wrong:
                raise wrong.below(key) from None
        for key, name in required.items():
            if name not in made:
                raise Malformed(f"`{key}` is missing")
        return cls(**made)

    return decode


def _float(value: Any) -> float:
    kind = type(value)
    if kind is int:
        try:
            return float(value)
        except OverflowError:
            raise Malformed("the number is too large") from None
    if kind is not float:
        raise Malformed(f"expected a number, found {described_value(value)}")
    if not math.isfinite(value):
        raise Malformed(f"{value} is not a finite number")
    return cast("float", value)


def _int(value: Any) -> int:
    if type(value) is not int:
        raise Malformed(f"expected an integer, found {described_value(value)}")
    return value


def _str(value: Any) -> str:
    if type(value) is not str:
        raise Malformed(f"expected a string, found {described_value(value)}")
    return value


def _bool(value: Any) -> bool:
    if type(value) is not bool:
        raise Malformed(f"expected a boolean, found {described_value(value)}")
    return value


def _scalar(value: Any) -> Any:
    if type(value) not in _SCALARS:
        raise Malformed(f"expected a string, a number or a boolean, found {described_value(value)}")
    return value


def _status(value: Any) -> int:
    if type(value) is not str or value not in BY_NAME:
        raise Malformed(f"expected one of {', '.join(BY_NAME)}, found {described_value(value)}")
    return BY_NAME[value]


def described_value(value: object) -> str:
    """Return a description of a value for an error message."""
    match value:
        case None:
            return "no value"
        case bool():
            return f"the boolean `{str(value).lower()}`"
        case int() | float():
            return f"the number `{value}`"
        case str():
            return f"the string `{value if len(value) <= 40 else value[:39] + '…'}`"
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case _:
            return f"a value of type {type(value).__name__}"
