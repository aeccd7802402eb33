"""The objects of a recorded watch: what `kubectl get --watch -o json --output-watch-events` prints.

Each JSON document is an event, `{"type": "ADDED", "object": {…}}`; a `List` counts as one event for each of its items. Only
the last state of an object and its deletion matter, because its timestamps tell its history.
Source: k8s.io/apimachinery/pkg/apis/meta/v1 (WatchEvent), kubectl get (--output-watch-events), v1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apportion_runtime.sim.traces.json_items import stream_items
from apportion_runtime.sim.traces.records import SkippedRow, Source, TraceError

CURE = "record the objects with kubectl get pods -A --watch -o json --output-watch-events"
_TYPES = ("ADDED", "MODIFIED", "DELETED")
_BOOKMARK, _ERROR, _DELETED = "BOOKMARK", "ERROR", "DELETED"


@dataclass(slots=True)
class WatchedObject:
    """An object: the line of its first event, its last state, and whether it was deleted."""

    line: int
    state: Mapping[str, Any]
    is_deleted: bool = False

    @property
    def kind(self) -> str:
        """The object's kind."""
        return str(self.state.get("kind"))

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The object's metadata."""
        return mapping(self.state, "metadata")

    @property
    def name(self) -> str:
        """The object's name."""
        return str(self.metadata["name"])

    @property
    def namespace(self) -> str:
        """The object's namespace; empty for nodes."""
        return str(self.metadata.get("namespace") or "")


def watched_objects(source: Source, skips: list[SkippedRow]) -> list[WatchedObject]:
    """Return the objects in order of their first events, and add an interruption of the watch to the skips.

    Raises:
        TraceError: If a document is not an event.
    """
    found: dict[str, WatchedObject] = {}
    for line, kind, state in _events(source):
        if kind == _ERROR:
            reason = f"the watch was interrupted: {state.get('message') or state.get('reason') or 'unknown error'}"
            skips.append(
                SkippedRow(source.file, line, reason, "remove the event if the rest of the recording suffices")
            )
            continue
        metadata = mapping(state, "metadata")
        if not metadata.get("name") or not state.get("kind"):
            raise TraceError(source.file, line, "the event's object has no kind or name", CURE)
        # An object that was recreated with the same name has another uid.
        key = "/".join(str(each) for each in (state["kind"], *(metadata.get(n) for n in ("namespace", "name", "uid"))))
        known = found.setdefault(key, WatchedObject(line, state))
        known.state, known.is_deleted = state, kind == _DELETED
    return list(found.values())


def mapping(value: object, *path: str) -> Mapping[str, Any]:
    """Return the mapping at a path of keys; empty if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def mappings(value: object, *path: str) -> list[Mapping[str, Any]]:
    """Return the mappings of the list at a path of keys; empty if there is none."""
    found = mapping(value, *path[:-1]).get(path[-1])
    return [item for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []


def _events(source: Source) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Yield the line, type and object of each event. Raises `TraceError`."""
    is_empty = True
    for line, item in stream_items(source, f"{CURE}, and remove the last event if it is incomplete"):
        is_empty = False
        if isinstance(item, Mapping) and item.get("kind") == "List":
            yield from ((line, _TYPES[0], each) for each in _items(source, line, item))
            continue
        kind = item.get("type") if isinstance(item, Mapping) else None
        state = item.get("object") if isinstance(item, Mapping) else None
        if kind not in (*_TYPES, _BOOKMARK, _ERROR) or not isinstance(state, Mapping):
            raise TraceError(source.file, line, "the JSON document is neither a watch event nor a List", CURE)
        if kind != _BOOKMARK:
            yield line, str(kind), state
    if is_empty:
        raise TraceError(source.file, 1, "the file contains no watch events", CURE)


def _items(source: Source, line: int, listed: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    items = listed.get("items")
    if not isinstance(items, list) or not all(isinstance(each, Mapping) for each in items):
        raise TraceError(source.file, line, "`items` of the List must be a list of objects", CURE)
    return items
