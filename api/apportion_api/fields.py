"""Typed access to the fields of an untrusted API object.

Missing, null and empty values are equivalent, as for the API server. A value of the wrong type is recorded as a fault;
a scalar is then returned as text, so that the caller can report it, and a container as an empty one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import cast

Manifest = Mapping[str, object]
Written = str | int | float
"""A quantity as written in the object."""


Steps = tuple[str | int, ...]
"""The path of a value: keys of mappings, and indices of lists."""


def dotted(steps: Steps) -> str:
    """Return a path as text: `spec.levels[0].nodeLabel`, `metadata.labels[example.com/team]`."""
    made = ""
    for step in map(str, steps):
        made += step if not made else f"[{step}]" if step.isdecimal() or "." in step else f".{step}"
    return made


@dataclass(frozen=True, slots=True)
class Fault:
    """A value of the wrong type."""

    steps: Steps
    expected: str
    found: object

    @property
    def path(self) -> str:
        """The path of the value, as text."""
        return dotted(self.steps)

    def __str__(self) -> str:
        return f"{self.path}: `{self.found}` is not {self.expected}"


class Fields:
    """A mapping in an object, unchanged, and its path; nested mappings share its faults."""

    __slots__ = ("_below", "_faults", "steps", "written")

    def __init__(self, written: Manifest, steps: Steps = (), faults: list[Fault] | None = None) -> None:
        self.written = written
        self.steps = steps
        self._faults: list[Fault] = [] if faults is None else faults
        self._below: dict[str, Fields] = {}

    @property
    def path(self) -> str:
        """The path of the mapping, as text."""
        return dotted(self.steps)

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The malformed values among the fields that were accessed so far."""
        return tuple(self._faults)

    def __contains__(self, key: str) -> bool:
        """Whether a field is set, and not null."""
        return self.written.get(key) is not None

    def text(self, key: str) -> str | None:
        """Return a text; None if it is missing or empty."""
        found = self.written.get(key)
        return found or None if isinstance(found, str) else self._malformed("a string", found, key)

    def integer(self, key: str) -> int | None:
        """Return an integer; None if it is missing or not an integer."""
        found = self.written.get(key)
        if isinstance(found, int) and not isinstance(found, bool):
            return found
        self._malformed("an integer", found, key)
        return None

    def number(self, key: str) -> float | None:
        """Return a finite number; None if it is missing or not a number."""
        found = self.written.get(key)
        if isinstance(found, int | float) and not isinstance(found, bool) and isfinite(found):
            return found
        self._malformed("a finite number", found, key)
        return None

    def flag(self, key: str) -> bool | None:
        """Return a boolean; None if it is missing or not a boolean."""
        found = self.written.get(key)
        if isinstance(found, bool):
            return found
        self._malformed("a boolean", found, key)
        return None

    def quantity(self, key: str) -> Written | None:
        """Return a quantity as written; None if it is missing."""
        found = self.written.get(key)
        if isinstance(found, str | int | float) and not isinstance(found, bool):
            return found
        return self._malformed("a quantity", found, key)

    def quantities(self, key: str) -> dict[str, Written]:
        """Return a mapping of quantities, without null values."""
        held = self.at(key)
        found = {str(name): held.quantity(name) for name in held.written}
        return {name: "null" if value is None else value for name, value in found.items()}

    def integers(self, key: str) -> dict[str, int]:
        """Return a mapping of integers, without other values."""
        held = self.at(key)
        found = {str(name): held.integer(name) for name in held.written}
        return {name: value for name, value in found.items() if value is not None}

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(
            item if isinstance(item, str) else self._malformed("a string", item, key, number) or ""
            for number, item in enumerate(self._list(key))
        )

    def text_map(self, key: str) -> dict[str, str]:
        """Return a mapping of texts, such as labels."""
        held = self.at(key)
        return {str(name): held.text(name) or "" for name in held.written}

    def at(self, *keys: str) -> Fields:
        """Return the mapping at a path; empty if missing."""
        found = self
        for key in keys:
            below = found._below.get(key)
            if below is None:
                below = found._below[key] = found._mapping(found.written.get(key), key)
            found = below
        return found

    def each(self, key: str) -> Iterator[Fields]:
        """Yield the mappings of a list."""
        for number, item in enumerate(self._list(key)):
            yield self._mapping(item, key, number)

    def named(self, key: str) -> Iterator[tuple[str, Fields]]:
        """Yield the mappings of a mapping, each with its key."""
        held = self.at(key)
        for name in held.written:
            yield str(name), held.at(name)

    def mappings(self, key: str) -> tuple[Manifest, ...]:
        """Return the mappings of a list, unchanged."""
        return tuple(item.written for item in self.each(key))

    def _list(self, key: str) -> Sequence[object]:
        found = self.written.get(key)
        if isinstance(found, list | tuple):
            return cast("Sequence[object]", found)
        self._malformed("a list", found, key)
        return ()

    def _mapping(self, found: object, *steps: str | int) -> Fields:
        path = (*self.steps, *steps)
        # A check for the exact type is many times faster than one for a Mapping.
        if type(found) is dict or isinstance(found, Mapping):
            return Fields(cast("Manifest", found), path, self._faults)
        if found is not None:
            self._malformed("a mapping", found, *steps)
        return Fields({}, path, self._faults)

    def _malformed(self, expected: str, found: object, *steps: str | int) -> str | None:
        """Record a value of the wrong type, and return its text; None if the field is missing."""
        if found is None:
            return None
        self._faults.append(Fault((*self.steps, *steps), expected, found))
        return str(found) if found else None
