"""Typed access to the fields of an API object that anybody may have written.

Missing, null and empty are alike, as for the API server. A value of the wrong type is recorded as a fault; a scalar is
read as its text then, so that whoever reads it can refuse it by name, and a container as an empty one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

Manifest = Mapping[str, object]
Written = str | int | float
"""A quantity as it is written; `apportion_api.quantity` says its amount."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A value of the wrong type."""

    path: str
    expected: str
    found: object

    def __str__(self) -> str:
        return f"{self.path}: `{self.found}` is not {self.expected}"


class Fields:
    """A mapping in an object, as it is written, and its path; the mappings below it share its faults."""

    __slots__ = ("_faults", "path", "written")

    def __init__(self, written: Manifest, path: str = "", faults: list[Fault] | None = None) -> None:
        self.written = written
        self.path = path
        self._faults: list[Fault] = [] if faults is None else faults

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What is malformed among the fields that were read so far."""
        return tuple(self._faults)

    def __contains__(self, key: str) -> bool:
        """Whether a field is written, and not null."""
        return self.written.get(key) is not None

    def text(self, key: str) -> str | None:
        """Return a text; None where it is missing or empty."""
        found = self.written.get(key)
        return found or None if isinstance(found, str) else self._malformed(key, found, "text")

    def integer(self, key: str) -> int | None:
        """Return a integer; None where it is missing or not one."""
        found = self.written.get(key)
        if isinstance(found, int) and not isinstance(found, bool):
            return found
        self._malformed(key, found, "an integer")
        return None

    def flag(self, key: str) -> bool | None:
        """Return a boolean; None where it is missing or not one."""
        found = self.written.get(key)
        if isinstance(found, bool):
            return found
        self._malformed(key, found, "true or false")
        return None

    def quantity(self, key: str) -> Written | None:
        """Return a quantity as it is written; None where it is missing."""
        found = self.written.get(key)
        if isinstance(found, str | int | float) and not isinstance(found, bool):
            return found
        return self._malformed(key, found, "a quantity")

    def quantities(self, key: str) -> dict[str, Written]:
        """Return a mapping of quantities; null is not one."""
        held = self.at(key)
        found = {str(name): held.quantity(name) for name in held.written}
        return {name: "null" if value is None else value for name, value in found.items()}

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(
            item if isinstance(item, str) else self._malformed(f"{key}[{number}]", item, "text") or ""
            for number, item in enumerate(self._list(key))
        )

    def text_map(self, key: str) -> dict[str, str]:
        """Return a mapping of texts, such as labels."""
        held = self.at(key)
        return {str(name): held.text(name) or "" for name in held.written}

    def at(self, *keys: str) -> Fields:
        """Return the mapping at a path; empty where it is missing."""
        return self._mapping(keys[0], self.written.get(keys[0])).at(*keys[1:]) if keys else self

    def each(self, key: str) -> Iterator[Fields]:
        """Yield the mappings of a list."""
        for number, item in enumerate(self._list(key)):
            yield self._mapping(f"{key}[{number}]", item)

    def mappings(self, key: str) -> tuple[Manifest, ...]:
        """Return the mappings of a list as they are written."""
        return tuple(item.written for item in self.each(key))

    def _list(self, key: str) -> Sequence[object]:
        found = self.written.get(key)
        if isinstance(found, list | tuple):
            return cast("Sequence[object]", found)
        self._malformed(key, found, "a list")
        return ()

    def _mapping(self, key: str, found: object) -> Fields:
        path = f"{self.path}.{key}" if self.path else key
        if isinstance(found, Mapping):
            return Fields(cast("Manifest", found), path, self._faults)
        self._malformed(key, found, "a mapping")
        return Fields({}, path, self._faults)

    def _malformed(self, key: str, found: object, expected: str) -> str | None:
        """Record a value of the wrong type, and return its text; None where the field is missing."""
        if found is None:
            return None
        self._faults.append(Fault(f"{self.path}.{key}" if self.path else key, expected, found))
        return str(found) if found else None
