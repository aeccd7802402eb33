"""Reading objects of Kubernetes that are held as plain dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

Manifest = Mapping[str, Any]


class GroupingError(ValueError):
    """An object from which no pod group can be made, in the words of the engine's pod grouper."""


class Objects(Protocol):
    """The objects of a cluster, as far as grouping looks at other ones than the pod and its owners."""

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return an object, or None where there is none; the namespace of cluster-wide kinds is empty."""
        ...

    def has_pods(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Tell whether a pod with these labels exists that is not being deleted."""
        ...


def kind_of(made: Manifest) -> tuple[str, str]:
    """Return the API group and the kind of an object."""
    return str(made.get("apiVersion") or "").rpartition("/")[0], str(made.get("kind") or "")


def name_of(made: Manifest) -> str:
    """Return an object's name."""
    return str(metadata(made).get("name") or "")


def namespace_of(made: Manifest) -> str:
    """Return an object's namespace; empty where it has none."""
    return str(metadata(made).get("namespace") or "")


def uid_of(made: Manifest) -> str:
    """Return an object's uid."""
    return str(metadata(made).get("uid") or "")


def metadata(made: Manifest) -> Mapping[str, Any]:
    """Return an object's metadata."""
    return made.get("metadata") or {}


def labels_of(made: Manifest) -> Mapping[str, str]:
    """Return an object's labels."""
    return metadata(made).get("labels") or {}


def annotations_of(made: Manifest) -> Mapping[str, str]:
    """Return an object's annotations."""
    return metadata(made).get("annotations") or {}


def nested(made: Manifest, *path: str) -> Any:
    """Return what stands at a path; None where the path ends before."""
    at: Any = made
    for step in path:
        if not isinstance(at, Mapping):
            return None
        at = at.get(step)
    return at


def whole(made: Manifest, *path: str) -> int | None:
    """Return a whole number at a path, None where there is none.

    Raises:
        GroupingError: If something else stands there.
    """
    found = nested(made, *path)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int):
        raise GroupingError(f".{'.'.join(path)} accessor error: {found} is not a whole number")
    return found


def text(made: Manifest, *path: str) -> str:
    """Return a text at a path; empty where there is none."""
    found = nested(made, *path)
    return found if isinstance(found, str) else ""


def number_in(said: str, what: str) -> int:
    """Return the whole number that a label or an annotation says.

    Raises:
        GroupingError: If it says none.
    """
    try:
        return int(said)
    except ValueError:
        raise GroupingError(f"invalid {what}: `{said}` is not a whole number") from None
