"""The transfer format of a policy from the child process: JSON with the author's lines.

The input is untrusted: it is validated against the same models that the author's constructors use.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from apportion_policy.declaration import PLACE, Declaration, reading_places
from apportion_policy.errors import ApportionPolicyError
from apportion_policy.evaluation.sanitized_text import plain_text
from apportion_policy.omission import Omission
from apportion_policy.policy import Policy, set_omissions
from apportion_policy.refused_values import refused_values
from apportion_policy.source import CallSite, SourceLocation
from apportion_policy.unused_declarations import DECLARATION_KINDS

MAX_VALUES = 1_000_000
"""Maximum number of values of a policy as data. An invalid value may cost half a kilobyte of memory."""

_MAX_NAME = 300
_MAX_ERRORS = 1_000
_MAX_LINE = 100_000_000
_SEPARATORS = (b",", b"{", b"[")


class WireError(ApportionPolicyError):
    """Bytes that are not the output of `dump`."""


def dump(policy: Policy, omissions: Iterable[Omission] = ()) -> bytes:
    """Return two lines of JSON: files, locations and omissions, then the policy.

    Omitted fields stay omitted; `$at` of an object is the number of its location.
    """
    places = _LocationTable()
    omitted = [[omission.kind, omission.name, places.number(omission.source)] for omission in omissions]
    body = json.dumps(policy, ensure_ascii=False, separators=(",", ":"), default=partial(_plain, places))
    files: dict[str, int] = {}
    locations = [_location(source, files) for source in places.sources]
    header = {"files": list(files), "locations": locations, "omitted": omitted}
    head = json.dumps(header, ensure_ascii=False, separators=(",", ":"))
    return head.encode() + b"\n" + body.encode()


def prepare() -> None:
    """Build the validators of `load` in advance, for a caller with idle time."""
    Policy.model_rebuild()


def load(document: bytes, relative_to: Path | None = None) -> Policy:
    """Parse the output of `dump`.

    Args:
        document: The bytes.
        relative_to: Files below this folder are named relative to it, with forward slashes; others stay absolute.

    Raises:
        WireError: If the bytes are not its output.
    """
    try:
        if n_values(document) > MAX_VALUES:
            raise WireError(f"the evaluated policy has more than {MAX_VALUES} values")
        line, _, body = document.partition(b"\n")
        head = json.loads(line)
        files = [_relative(str(file), relative_to) for file in head["files"]]
        locations = [_read_location(location, files) for location in head["locations"]]
        omissions = [_read_omission(omission, locations) for omission in head["omitted"]]
        with reading_places(locations):
            policy = Policy.model_validate(json.loads(body))
    except ValidationError as refused:
        if refused.error_count() > _MAX_ERRORS:
            raise WireError(f"the evaluated policy has {refused.error_count()} invalid values") from None
        first = refused_values(refused, Policy, None)[0]
        place = ".".join(map(str, first.path))
        raise WireError(f"the evaluated policy cannot be deserialized: {place}: {first.message}") from refused
    except (ValueError, KeyError, TypeError, IndexError, ArithmeticError, RecursionError) as refused:
        raise WireError(f"the evaluated policy cannot be deserialized: {refused}") from refused
    set_omissions(policy, omissions)
    return policy


def n_values(document: bytes) -> int:
    """Return a lower bound of the number of values in JSON before parsing; characters within strings count too."""
    return 1 + sum(document.count(sign) for sign in _SEPARATORS)


class _LocationTable:
    """Locations in order of first use, without duplicates."""

    __slots__ = ("_numbers", "sources")

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self.sources: list[SourceLocation] = []

    def number(self, source: SourceLocation) -> int:
        """Return the number of a location, looked up by identity, because all locations compare equal."""
        known = self._numbers.get(id(source))
        if known is None:
            known = self._numbers[id(source)] = len(self.sources)
            self.sources.append(source)
        return known


def _relative(file: str, root: Path | None) -> str:
    path = Path(file)
    return path.relative_to(root).as_posix() if root is not None and path.is_relative_to(root) else file


def _plain(places: _LocationTable, value: Any) -> Any:
    """Convert a value that `json` does not support, one level at a time: `json` calls this again for nested ones."""
    if isinstance(value, Declaration):
        fields, named = value.__dict__, value.model_fields_set
        # In the order of the class, because sets are unordered.
        plain: dict[str, Any] = {name: fields[name] for name in fields if name in named or name == "kind"}
        plain[PLACE] = places.number(value.source)
        return plain
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not part of a policy")


def _read_omission(omission: list[Any], locations: list[SourceLocation]) -> Omission:
    kind, name, place = omission
    if kind not in DECLARATION_KINDS:
        raise ValueError("unknown kind of omission")
    return Omission(str(kind), plain_text(str(name), _MAX_NAME), locations[place])


def _location(source: SourceLocation, files: dict[str, int]) -> list[Any]:
    callers = [[files.setdefault(call.file, len(files)), call.line] for call in source.callers]
    span = [source.line, source.column, source.end_line, source.end_column]
    return [files.setdefault(source.file, len(files)), *span, callers]


def _read_location(location: list[Any], files: list[str]) -> SourceLocation:
    file, line, column, end_line, end_column, callers = location
    calls = tuple(CallSite(files[f], _position(n)) for f, n in callers)
    span = (_position(line), _position(column), _position(end_line), _position(end_column))
    return SourceLocation(files[file], *span, calls)


def _position(number: object) -> int:
    if type(number) is not int or not 0 <= number <= _MAX_LINE:
        raise ValueError("a location must consist of line and column numbers")
    return number
