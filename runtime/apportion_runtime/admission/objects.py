"""Access to Kubernetes objects in plain dictionaries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

Manifest = Mapping[str, Any]
_INTEGER = re.compile(r"[+-]?[0-9]+")


class GroupingError(ValueError):
    """No pod group can be created; the message is that of the engine's pod grouper."""


class Unreadable(Exception):
    """The account may not read an object."""


class Objects(Protocol):
    """The objects of a cluster that grouping reads in addition to the pod."""

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return a PriorityClass or PodGroup, or None; the namespace of cluster-scoped kinds is empty."""
        ...

    def read(self, api_version: str, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return an object of any kind, at least its metadata; None if it does not exist.

        Raises:
            Unreadable: If the account may not read it.
        """
        ...

    def pods(self, namespace: str, labels: Mapping[str, str]) -> Iterable[Manifest]:
        """Return the pods with these labels, including those that are being deleted."""
        ...


def kind_of(made: Manifest) -> tuple[str, str]:
    """Return the API group and the kind of an object."""
    return str(made.get("apiVersion") or "").rpartition("/")[0], str(made.get("kind") or "")


def name_of(made: Manifest) -> str:
    """Return an object's name."""
    return str(metadata(made).get("name") or "")


def namespace_of(made: Manifest) -> str:
    """Return an object's namespace; empty if it has none."""
    return str(metadata(made).get("namespace") or "")


def uid_of(made: Manifest) -> str:
    """Return an object's uid."""
    return str(metadata(made).get("uid") or "")


def metadata(made: Manifest) -> Mapping[str, Any]:
    """Return an object's metadata."""
    return made.get("metadata") or {}


def spec_of(made: Manifest) -> Mapping[str, Any]:
    """Return an object's spec, which the definitions of custom resources need not require."""
    return made.get("spec") or {}


def labels_of(made: Manifest) -> Mapping[str, str]:
    """Return an object's labels."""
    return metadata(made).get("labels") or {}


def annotations_of(made: Manifest) -> Mapping[str, str]:
    """Return an object's annotations."""
    return metadata(made).get("annotations") or {}


def nested(made: Manifest, *path: str) -> Any:
    """Return the value at a path; None if it does not exist."""
    at: Any = made
    for step in path:
        # Most are dictionaries, and the check against the abstract class takes several times as long.
        if type(at) is not dict and not isinstance(at, Mapping):
            return None
        at = at.get(step)
    return at


def whole(made: Manifest, *path: str) -> int | None:
    """Return an integer at a path; None if it is missing.

    Raises:
        GroupingError: If the value is not an integer.
    """
    found = nested(made, *path)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int):
        raise GroupingError(f".{'.'.join(path)} accessor error: {found} is not an integer")
    return found


def text(made: Manifest, *path: str) -> str:
    """Return a string at a path; empty if it is missing."""
    found = nested(made, *path)
    return found if isinstance(found, str) else ""


def integer(said: str, bits: int = 64) -> int | None:
    """Return the integer value of a text as Go's strconv reads it; None if it is not one, or exceeds the bits."""
    if _INTEGER.fullmatch(said) is None:
        return None
    found = int(said)
    return found if -(2 ** (bits - 1)) <= found < 2 ** (bits - 1) else None


def number_in(said: str, what: str, *, bits: int = 64) -> int:
    """Return the integer value of a label or annotation.

    Raises:
        GroupingError: If it is not an integer, or exceeds the bits.
    """
    found = integer(said, bits)
    if found is None:
        raise GroupingError(f"invalid {what}: `{said}` is not a {bits}-bit integer")
    return found
