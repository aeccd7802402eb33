"""A queue as a node of the tree."""

from __future__ import annotations

from typing import NamedTuple

from apportion_policy.queue import Queue


class Node(NamedTuple):
    """A queue in the tree. `path` leads from the root, itself included; `depth` of a root is 1."""

    id: str
    queue: Queue
    parent: str | None
    children: tuple[str, ...]
    path: tuple[str, ...]

    @property
    def is_leaf(self) -> bool:
        """Only leaves hold workloads."""
        return not self.children

    @property
    def address(self) -> str:
        """How findings name it."""
        return f"queue {self.queue.id}"
