"""The zones of nodes: nothing is aligned where no node reports any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apportion_runtime.core.nodes import Indices
from apportion_runtime.core.resources import Vector
from apportion_runtime.core.task import Task

if TYPE_CHECKING:
    from apportion_runtime.core.session import Session


class NumaZones:
    """The zones of a session's nodes."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add_scores(self, score: Vector, task: Task, nodes: Indices) -> Vector:
        """Return the scores as they are."""
        del task, nodes
        return score

    def allows(self, task: Task, i: int) -> bool:
        """Tell that every node will do."""
        del task, i
        return True

    def placement(self, task: Task, i: int) -> tuple[tuple[int, Vector], ...]:
        """Return no zones."""
        del task, i
        return ()
