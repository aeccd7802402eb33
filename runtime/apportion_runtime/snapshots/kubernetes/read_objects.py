"""Objects that are read for one cluster, and reused for others that contain them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apportion_runtime.snapshots.kubernetes.objects import Object


class ReadObjects:
    """Objects that were read before, by the identity of their mapping: clusters share them."""

    def __init__(self) -> None:
        self._held: dict[int, Object] = {}

    def get(self, data: Mapping[str, object]) -> Object | None:
        """Return an object as it was read from the same mapping; None if it was not read, or was rejected."""
        # An object holds its mapping, so that no other one gets its id.
        return self._held.get(id(data))

    def put(self, made: Object) -> None:
        """Keep an object."""
        self._held[id(made.data)] = made
