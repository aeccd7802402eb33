"""A queue as a node of the tree."""

from __future__ import annotations

from typing import NamedTuple

from apportion_policy.queue import Queue


class Node(NamedTuple):
    """A queue in the tree. `path` is the path from the root, including itself; the `depth` of a root is 1."""

    id: str
    queue: Queue
    parent: str | None
    children: tuple[str, ...]
    path: tuple[str, ...]

    @property
    def is_leaf(self) -> bool:
        """Whether it is a leaf. Only leaves have workloads."""
        return not self.children

    @property
    def address(self) -> str:
        """The address in findings."""
        return f"queue {self.queue.id}"
