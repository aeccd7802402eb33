"""A kind of workload that a binding can write: its template, and what stands in for what nobody asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from apportion_compiler.bindings.work import Work
from apportion_compiler.workload_shapes import Node, shape_of


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind.

    Attributes:
        api_version: Version of its API.
        kind: Its kind in the API.
        template: From a workload to its objects; several objects start together.
        image: Image where none was named.
        command: What to run where nothing was named; with an image of one's own, what that runs.
        serves: Whether it runs until it is told to stop.
        engine: The one engine that knows it; None where all do.
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
        """Greatest length of a name of this kind."""
        shape = shape_of({"apiVersion": self.api_version, "kind": self.kind})
        assert shape is not None
        return shape.max_name
