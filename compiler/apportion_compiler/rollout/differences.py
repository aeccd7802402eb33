"""Differences between two sets of objects, by object and field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from apportion_compiler.plain_objects import Manifest
from apportion_compiler.rollout.identity import Identity, identity_of


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """An object that is created, changed or deleted.

    Attributes:
        action: The action.
        identity: The identity of the object.
        before: The former object; None if it is created.
        after: The wanted object; None if it is deleted.
    """

    action: Literal["make", "change", "delete"]
    identity: Identity
    before: Manifest | None
    after: Manifest | None

    @property
    def shown(self) -> Manifest:
        """The wanted object, or the former one if it is deleted."""
        found = self.after if self.after is not None else self.before
        assert found is not None
        return found

    @property
    def fields(self) -> tuple[FieldChange, ...]:
        """The fields that change; none if the object is created or deleted."""
        if self.before is None or self.after is None:
            return ()
        return tuple(field_changes(self.before, self.after))


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field, by its path; `None` means that it is missing."""

    path: str
    before: object
    after: object


def differences(former: Sequence[Manifest], wanted: Sequence[Manifest]) -> tuple[ObjectChange, ...]:
    """Return the changes: creations and updates in the order of `wanted`, then deletions in reverse of `former`."""
    before = {identity_of(m): m for m in former}
    after = {identity_of(m): m for m in wanted}
    written = [
        ObjectChange("change" if key in before else "make", key, before.get(key), m)
        for key, m in after.items()
        if before.get(key) != m
    ]
    gone = [ObjectChange("delete", key, m, None) for key, m in reversed(before.items()) if key not in after]
    return (*written, *gone)


def field_changes(before: object, after: object, path: str = "") -> Iterator[FieldChange]:
    """Yield the innermost fields that differ; scalars, and lists of different lengths, are compared as a whole."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys((*before, *after)):
            yield from field_changes(before.get(key), after.get(key), below(path, str(key)))
    elif isinstance(before, list | tuple) and isinstance(after, list | tuple) and len(before) == len(after):
        for place, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from field_changes(one, other, f"{path}[{place}]")
    elif before != after:
        yield FieldChange(path, before, after)


def below(path: str, key: str) -> str:
    """Return the path of a key below another."""
    # Keys that contain dots, such as labels and annotations, are bracketed, so that the path is unambiguous.
    step = f"[{key}]" if "." in key or "/" in key else f".{key}"
    return f"{path}{step}" if path else key
