"""Timestamps and durations of objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from apportion_api.kai.names import LAST_EVICTION_ANNOTATION, LAST_START_ANNOTATION, STALE_SINCE_ANNOTATION
from apportion_runtime.snapshots.faults import IGNORED_VALUE, QUANTITY, Fault
from apportion_runtime.snapshots.kubernetes.objects import Object
from apportion_runtime.snapshots.quantities import parse_duration, parse_time

_HINT = "use a time such as 2026-11-21T08:00:00Z"
_STAMPS = (STALE_SINCE_ANNOTATION, LAST_START_ANNOTATION, LAST_EVICTION_ANNOTATION)


def created(of: Object, faults: list[Fault]) -> float:
    """Return the creation time of an object, in seconds since 1970; 0 if it is not set."""
    return moment(of, "creationTimestamp", faults) or 0.0


def moment(of: Object, key: str, faults: list[Fault]) -> float | None:
    """Return a time of an object's metadata."""
    text = of.metadata.get(key)
    if not text:
        return None
    try:
        return parse_time(text)
    except ValueError as wrong:
        faults.append(Fault(QUANTITY, of.address, f"`{key}`: {wrong}", _HINT, of.place.at("metadata", key)))
        return None


def stamp(of: Object, key: str, faults: list[Fault]) -> float | None:
    """Return a time from an annotation; an invalid one is ignored, as in the engine."""
    text = of.annotations.get(key)
    if not text:
        return None
    try:
        return parse_time(text)
    except ValueError as wrong:
        message = f"annotation `{key}`: {wrong}; the engine ignores the annotation"
        place = of.place.at("metadata", "annotations", key)
        faults.append(Fault(IGNORED_VALUE, of.address, message, _HINT, place))
        return None


def duration(of: Object, key: str, written: str | None, faults: list[Fault]) -> float | None:
    """Return a duration that an object's spec has at a key, in seconds."""
    if written is None:
        return None
    try:
        return parse_duration(written)
    except ValueError as wrong:
        hint = "use a duration such as 90s or 1h30m"
        faults.append(Fault(QUANTITY, of.address, f"`{key}`: {wrong}", hint, of.place.at("spec", key)))
        return None


def newest(objects: Mapping[str, Sequence[Object]]) -> float:
    """Return the latest timestamp of any object; 0 if there is none.

    Deletion timestamps are in the future by the grace period, and do not count.
    """
    texts: set[str] = set()
    for kind in objects.values():
        for each in kind:
            texts.update(_moments(each))
    latest = 0.0
    for text in texts:
        try:
            latest = max(latest, parse_time(text))
        except ValueError:
            continue
    return latest


def _moments(of: Object) -> Iterable[str]:
    made = of.metadata.get("creationTimestamp")
    if made:
        yield made
    annotations = of.metadata.get("annotations")
    if annotations and of.kind == "PodGroup":
        yield from (annotations[key] for key in _STAMPS if annotations.get(key))
    if of.kind == "Node":
        for condition in of.status.get("conditions") or ():
            for key in ("lastHeartbeatTime", "lastTransitionTime"):
                if condition.get(key):
                    yield condition[key]
