"""The locations of a snapshot's records in the texts that it was read from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from apportion_runtime.snapshots.faults import ObjectLocation, Path


@dataclass(frozen=True, slots=True)
class RecordLocations:
    """The locations of records: the object of each, and the path to each value that findings name."""

    of: Callable[[str, str], ObjectLocation | None]
    paths: Mapping[str, Path]

    def at(self, kind: str, id_: str, aspect: str = "") -> ObjectLocation | None:
        """Return the location of a record, or of a value in it."""
        place = self.of(kind, id_)
        return None if place is None else place.at(*self.paths.get(aspect, ()))


NOWHERE = RecordLocations(lambda _, __: None, {})
"""For records that are not read from a text."""
