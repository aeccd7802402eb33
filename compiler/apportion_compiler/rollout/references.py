"""Dependencies by reference: an object's namespace, its parent queue, its flavors.

Backends emit a referenced object before those that reference it. So an object depends on the earlier objects whose name
occurs in it as a complete value. A false dependency, on a value that happens to be a name, costs only time, because the
order is that of the backend.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_compiler.plain_objects import Manifest, name_of, text

_NOT_REFERENCES = frozenset({"annotations", "data"})


def references(objects: Sequence[Manifest]) -> tuple[frozenset[int], ...]:
    """Return, for each object by index, the indices of its dependencies, all of which are smaller."""
    # An object can be referenced in its namespace, or anywhere if it has none.
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
        # The parent of a Koordinator quota is a label.
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
