"""Faults of a snapshot: kind, object, location and hint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

Path = tuple[str | int, ...]
"""Keys and indices from an object to a value in it."""


class ObjectLocation(NamedTuple):
    """The location of an object: the text, the document in it, the item of a list, and the path of a value in the object."""

    source: int
    document: int
    item: Path = ()
    path: Path = ()

    def at(self, *path: str | int) -> ObjectLocation:
        """Return the location of a value in the same object."""
        return ObjectLocation(self.source, self.document, self.item, path)


@dataclass(frozen=True, slots=True)
class Fault:
    """One finding about a snapshot.

    Attributes:
        kind: Names the fault; see `KINDS`.
        address: The object: `pod research/train-0`.
        message: One lower-case clause with the values.
        hint: What to do, in the imperative.
        place: The location; None for the text as a whole.
        file: The name of the text, once it is located.
        line: The line, from 1; 0 if unknown.
    """

    kind: str
    address: str
    message: str
    hint: str
    place: ObjectLocation | None = None
    file: str = ""
    line: int = 0


UNREADABLE = "unreadable-snapshot"
QUANTITY = "invalid-quantity"
NEGATIVE = "negative-amount"
DUPLICATE = "duplicate-object"
CYCLE = "queue-parent-cycle"
UNKNOWN_QUEUE = "unknown-queue"
UNKNOWN_NODE = "pod-on-unknown-node"
UNKNOWN_GROUP = "unknown-pod-group"
UNKNOWN_SUB_GROUP = "unknown-sub-group"
OVERCOMMITTED = "node-overcommitted"
OVERLAPPING = "gpu-devices-overlap"
UNKNOWN_CLASS = "unknown-priority-class"
IGNORED_VALUE = "ignored-value"
UNKNOWN_SELECTOR = "unknown-device-selector"

INCLUDE = "include the referenced objects"
EXPORT_TOGETHER = "export all objects at the same time"
INCLUDE_GPU_GROUP = "include the runai-gpu-group label of pods that share a device"
HINTS_FOR_FILES = frozenset((INCLUDE, EXPORT_TOGETHER, INCLUDE_GPU_GROUP))
"""Hints about how a file is made, which do not apply to a cluster that is read directly."""

ERRORS = frozenset((UNREADABLE, QUANTITY, NEGATIVE, DUPLICATE, CYCLE))
"""Faults that prevent a cycle. With all others, the engine and the simulation continue."""

KINDS = (
    UNREADABLE, QUANTITY, NEGATIVE, DUPLICATE, CYCLE, UNKNOWN_QUEUE, UNKNOWN_NODE, UNKNOWN_GROUP, UNKNOWN_SUB_GROUP,
    OVERCOMMITTED, OVERLAPPING, UNKNOWN_CLASS, IGNORED_VALUE, UNKNOWN_SELECTOR,
)  # fmt: skip


def has_errors(faults: Sequence[Fault]) -> bool:
    """Return whether any fault prevents a cycle."""
    return any(fault.kind in ERRORS for fault in faults)


def instead(wrong: str, known: Iterable[str]) -> str:
    """Return a hint with the closest existing name, or with some of the existing names."""
    names = sorted(known)
    near = get_close_matches(wrong, names, n=1)
    if near:
        return f"did you mean `{near[0]}`?"
    return f"use an existing name: {', '.join(names[:5])}" if names else INCLUDE
