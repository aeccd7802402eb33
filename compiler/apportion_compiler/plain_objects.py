"""Access to untrusted Kubernetes objects: a field of the wrong type is treated as missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from apportion_policy.errors import QuantityError
from apportion_policy.quantity import kubernetes_value

Manifest = Mapping[str, object]


def of_kind(manifests: Iterable[Manifest], group: str, kind: str) -> list[Manifest]:
    """Return the objects of a kind, in any version of the group."""
    return [m for m in manifests if m.get("kind") == kind and group_of(m) == group]


def group_of(manifest: Manifest) -> str:
    """Return the API group, empty for the core group."""
    group, slash, _ = str(manifest.get("apiVersion", "")).rpartition("/")
    return group if slash else ""


def mapping(value: object, *path: str) -> Mapping[str, object]:
    """Return the mapping at a path, empty if missing."""
    # Asking for the exact type first is several times faster than asking for a Mapping.
    for key in path:
        held = type(value) is dict or isinstance(value, Mapping)
        value = cast("Mapping[str, object]", value).get(key) if held else None
    return cast("Mapping[str, object]", value) if type(value) is dict or isinstance(value, Mapping) else {}


def items(value: object, *path: str) -> Sequence[object]:
    """Return the list at a path, empty if missing."""
    found = mapping(value, *path[:-1]).get(path[-1])
    return cast("Sequence[object]", found) if isinstance(found, list | tuple) else ()


def text(value: object, *path: str) -> str | None:
    """Return the text at a path; None if it is missing or empty."""
    found = mapping(value, *path[:-1]).get(path[-1])
    return found if isinstance(found, str) and found else None


def integer(value: object, *path: str) -> int | None:
    """Return the integer at a path; None if missing."""
    found = mapping(value, *path[:-1]).get(path[-1])
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def name_of(manifest: Manifest) -> str:
    """Return `metadata.name`, empty if missing."""
    return text(manifest, "metadata", "name") or ""


def labels_of(manifest: Manifest) -> Mapping[str, str]:
    """Return the labels whose values are text."""
    return {key: value for key, value in mapping(manifest, "metadata", "labels").items() if isinstance(value, str)}


def annotations_of(manifest: Manifest) -> Mapping[str, str]:
    """Return the annotations whose values are text."""
    return {key: value for key, value in mapping(manifest, "metadata", "annotations").items() if isinstance(value, str)}


def described(manifest: Manifest) -> str:
    """Return `Kind name`, with the namespace if it has one."""
    namespace = text(manifest, "metadata", "namespace")
    name = name_of(manifest) or "without a name"
    return f"{manifest.get('kind')} {namespace}/{name}" if namespace else f"{manifest.get('kind')} {name}"


def parents_first(parents: Mapping[str, str | None]) -> Iterator[str]:
    """Yield ids parents first, roots and siblings in the given order. Members of a cycle are omitted."""
    children: dict[str | None, list[str]] = {}
    for id_, parent in parents.items():
        children.setdefault(parent if parent in parents else None, []).append(id_)
    stack = list(reversed(children.get(None, [])))
    while stack:
        id_ = stack.pop()
        yield id_
        stack.extend(reversed(children.get(id_, [])))


def same_value(one: object, other: object) -> bool:
    """Return whether two values are equal, including different spellings of quantities: `1000m`, `"1"` and 1."""
    if one == other and isinstance(one, bool) == isinstance(other, bool):
        return True
    if isinstance(one, bool) or isinstance(other, bool):
        return False
    if isinstance(one, int | float | str) and isinstance(other, int | float | str):
        try:
            return kubernetes_value(one) == kubernetes_value(other)
        except QuantityError:
            return False
    return False
