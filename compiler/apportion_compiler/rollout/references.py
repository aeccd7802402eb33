"""What an object waits for because it names it: its namespace, the queue above it, the flavor it counts.

An object that is named stands before the one that names it, because backends write in apply order. So the objects
that come earlier and whose name occurs in an object as a whole value are what it waits for. One too many, because a
word happens to be the name of something, costs a moment and breaks nothing: the order is the backend's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_compiler.plain_objects import Manifest, name_of, text

_NOT_REFERENCES = frozenset({"annotations", "data"})


def references(objects: Sequence[Manifest]) -> tuple[frozenset[int], ...]:
    """Return for each object, by its place, the places of those that it waits for; all of them are before it."""
    # An object can be named in its namespace, or everywhere if it has none.
    earlier: dict[tuple[str | None, str], list[int]] = {}
    names: set[str] = set()
    waits: list[frozenset[int]] = []
    for place, manifest in enumerate(objects):
        namespace, own = text(manifest, "metadata", "namespace"), name_of(manifest)
        named = {word for word in _words(manifest) if word in names}
        reach = (None,) if namespace is None else (None, namespace)
        waits.append(frozenset(other for word in named for where in reach for other in earlier.get((where, word), ())))
        earlier.setdefault((namespace, own), []).append(place)
        names.add(own)
    return tuple(waits)


def _words(manifest: Manifest) -> Iterator[str]:
    metadata = manifest.get("metadata")
    if isinstance(metadata, Mapping):
        namespace = metadata.get("namespace")
        if isinstance(namespace, str):
            yield namespace
        # The parent of a quota of Koordinator is a label.
        yield from _values({k: v for k, v in (metadata.get("labels") or {}).items() if str(k).endswith("/parent")})
    yield from _values({key: value for key, value in manifest.items() if key not in ("metadata", "apiVersion", "kind")})


def _values(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, below in value.items():
            if key not in _NOT_REFERENCES:
                yield from _values(below)
    elif isinstance(value, list | tuple):
        for below in value:
            yield from _values(below)
