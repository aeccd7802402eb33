"""Queues that do not descend from a top-level queue: a parent does not exist, or the parents form a cycle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BrokenPath:
    """Why a queue does not descend from a top-level queue.

    Attributes:
        queue: The queue or the ancestor of it whose parent is wrong; of a cycle, the first that is reached.
        missing: The parent that does not exist; None if there is a cycle.
        cycle: The queues of the cycle, each before its parent; empty if there is none.
    """

    queue: str
    missing: str | None
    cycle: tuple[str, ...] = ()


def broken_path(queue: str, parents: Mapping[str, str | None]) -> BrokenPath | None:
    """Return why a queue does not descend from a top-level queue; None if it does.

    Args:
        queue: An existing queue.
        parents: The parent of each queue; None or empty for a top-level queue.
    """
    path: dict[str, None] = {}
    at = queue
    while True:
        path[at] = None
        parent = parents[at]
        if not parent:
            return None
        if parent not in parents:
            return BrokenPath(at, parent)
        if parent in path:
            names = list(path)
            return BrokenPath(parent, None, tuple(names[names.index(parent) :]))
        at = parent


def cycle_text(cycle: tuple[str, ...]) -> str:
    """Return the queues of a cycle in order, with the first one at both ends."""
    return " → ".join((*cycle, cycle[0]))


def cycle_cure(cycle: tuple[str, ...]) -> str:
    """Return how to remove a cycle, as an imperative clause."""
    if len(cycle) == 1:
        return f"remove `parentQueue` from queue {cycle[0]}, or set it to another queue"
    return "remove `parentQueue` from one of these queues, or set it to a queue outside the cycle"
