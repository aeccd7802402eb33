"""Typed access to the fields of a scenario document, with errors for wrong types and unknown fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from apportion_runtime.snapshots.quantities import parse_duration, parse_quantity

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_LONGEST_NAME = 253
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


class ScenarioError(ValueError):
    """An invalid scenario, with the location of the fault.

    Attributes:
        line: Line of the scenario's text, from 1, if known.
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line

    @property
    def path(self) -> tuple[str | int, ...]:
        """The invalid field, by its keys and indices; empty if it is not a field."""
        head, found, _ = str(self).partition(": ")
        steps = _STEP.findall(head) if found else ()
        return tuple(int(number) if number else name for number, name in steps)


@dataclass(slots=True)
class Fields:
    """The fields of a mapping; `done` rejects unknown fields."""

    data: Mapping[str, Any]
    path: str
    _known: set[str] = field(default_factory=set)

    def fault(self, key: str, message: str) -> ScenarioError:
        """Return the error for a field."""
        return ScenarioError(f"{self.path}.{key}: {message}" if self.path else f"{key}: {message}")

    def raw(self, key: str) -> Any:
        """Return the value of a field; None if missing."""
        self._known.add(key)
        return self.data.get(key)

    def text(self, key: str, default: str = "") -> str:
        """Return a string; numbers are converted."""
        found = self.raw(key)
        if found is None:
            return default
        if isinstance(found, bool) or not isinstance(found, str | int | float):
            raise self.fault(key, f"`{found}` is not a string")
        return str(found)

    def object_name(self, key: str, default: str = "") -> str:
        """Return the name of a Kubernetes object."""
        found = self.text(key, default)
        if found and (len(found) > _LONGEST_NAME or not _NAME.fullmatch(found)):
            raise self.fault(
                key,
                f"`{found}` is not a valid Kubernetes name: use at most {_LONGEST_NAME} lower-case letters, digits, `-` and `.`",
            )
        return found

    def number(self, key: str, default: float = 0.0) -> float:
        """Return a number that is not negative."""
        found = self.raw(key)
        if found is None:
            return default
        if isinstance(found, bool) or not isinstance(found, int | float) or found < 0:
            raise self.fault(key, f"`{found}` is not a non-negative number")
        return float(found)

    def integer(self, key: str, default: int = 0) -> int:
        """Return an integer that is not negative."""
        found = self.number(key, float(default))
        if found != int(found):
            raise self.fault(key, f"`{found:g}` is not an integer")
        return int(found)

    def optional_integer(self, key: str) -> int | None:
        """Return an integer; None if missing."""
        return None if self.raw(key) is None else self.integer(key)

    def boolean(self, key: str) -> bool:
        """Return a Boolean; false if missing."""
        found = self.raw(key)
        if found is None:
            return False
        if not isinstance(found, bool):
            raise self.fault(key, f"`{found}` is neither true nor false")
        return found

    def seconds(self, key: str, default: float = 0.0) -> float:
        """Return a duration in seconds: `90s`, `1h30m`, `2d`, or a number of seconds."""
        found = self.raw(key)
        if found is None:
            return default
        if isinstance(found, int | float) and not isinstance(found, bool) and found >= 0:
            return float(found)
        try:
            return _seconds(str(found))
        except ValueError:
            raise self.fault(key, f"`{found}` is not a duration such as 90s, 1h30m or 2d") from None

    def maybe_seconds(self, key: str) -> float | None:
        """Return seconds; None if missing."""
        return None if self.raw(key) is None else self.seconds(key)

    def quantity(self, key: str, default: str) -> str:
        """Return a Kubernetes quantity."""
        text = self.text(key, default)
        try:
            parse_quantity(text)
        except ValueError as wrong:
            raise self.fault(key, str(wrong)) from None
        return text

    def texts(self, key: str) -> dict[str, str]:
        """Return a mapping of strings."""
        found = self.raw(key) or {}
        if not isinstance(found, Mapping):
            raise self.fault(key, "must be a mapping")
        return {str(name): str(value) for name, value in found.items()}

    def maybe(self, key: str) -> Fields | None:
        """Return the fields of a mapping; None if missing."""
        found = self.raw(key)
        if found is None:
            return None
        return Fields(_mapping(found, f"{self.path}.{key}"), f"{self.path}.{key}" if self.path else key)

    def each(self, key: str) -> Iterator[Fields]:
        """Yield the fields of each item of a list."""
        found = self.raw(key) or []
        if not isinstance(found, list):
            raise self.fault(key, "must be a list")
        for number, item in enumerate(found):
            path = f"{self.path}.{key}[{number}]" if self.path else f"{key}[{number}]"
            yield Fields(_mapping(item, path), path)

    def done(self) -> None:
        """Reject unknown fields."""
        unknown = sorted(str(key) for key in self.data if key not in self._known)
        if unknown:
            raise self.fault(unknown[0], f"unknown field; supported fields are {', '.join(sorted(self._known))}")


def _mapping(found: object, path: str) -> Mapping[str, Any]:
    if not isinstance(found, Mapping):
        raise ScenarioError(f"{path}: must be a mapping")
    return found


def _seconds(text: str) -> float:
    days, found, rest = text.partition("d")
    if not found:
        days, rest = "0", text
    total = float(days) * 86_400 + (parse_duration(rest) if rest else 0.0)
    if total < 0:
        raise ValueError(text)
    return total
