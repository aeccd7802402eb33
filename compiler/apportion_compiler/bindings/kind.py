"""A kind of workload that a binding can create: its template and defaults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from apportion_compiler.bindings.defaulted_workload import Work
from apportion_compiler.workload_shapes import Node, shape_of


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind.

    Attributes:
        api_version: Version of its API.
        kind: Its kind in the API.
        template: Returns the objects of a workload; several objects start together.
        image: Default image.
        command: Default command, used with the default image only.
        serves: Whether it runs until stopped.
        engine: The only engine that supports it; None if all do.
    """

    api_version: str
    kind: str
    template: Callable[[Work], tuple[Node, ...]]
    image: str
    command: tuple[str, ...] = ()
    serves: bool = False
    engine: str | None = None

    @property
    def max_name(self) -> int:
        """Maximum length of a name of this kind."""
        shape = shape_of({"apiVersion": self.api_version, "kind": self.kind})
        assert shape is not None
        return shape.max_name
