"""Destructive changes that an engine or Kubernetes accepts: they are reported before they are applied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from apportion_api.kubernetes.names import SCHEDULING_GROUP
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.engines.traits import Reference
from apportion_compiler.plain_objects import Manifest, group_of, mapping
from apportion_compiler.rollout.differences import ObjectChange
from apportion_compiler.rollout.identity import Identity

CLASS_VALUE = "priority-class-value"
QUEUE_WITH_CHILDREN = "queue-with-children"
DESTRUCTIVE_CHANGES = (CLASS_VALUE, QUEUE_WITH_CHILDREN)
"""Names of destructive changes, by which a stack allows them."""


@dataclass(frozen=True, slots=True)
class DestructiveChange:
    """A destructive change: its kind, the object, and a clause with the consequence."""

    kind: str
    identity: Identity
    text: str


def destructive_changes(changes: Sequence[ObjectChange]) -> Iterator[DestructiveChange]:
    """Yield the destructive changes of one target."""
    yield from _class_values(changes)
    yield from _queues_with_children(changes)


def is_queue(manifest: Manifest) -> bool:
    """Return whether an object is a queue, a cohort or a quota with a parent."""
    return bool(_parents(manifest))


def _class_values(changes: Iterable[ObjectChange]) -> Iterator[DestructiveChange]:
    for change in changes:
        if change.action != "change" or (change.identity.group, change.identity.kind) != _PRIORITY_CLASS:
            continue
        before, after = mapping(change.before).get("value"), mapping(change.after).get("value")
        if before != after:
            yield DestructiveChange(
                CLASS_VALUE,
                change.identity,
                f"the value of PriorityClass {change.identity.name} changes from {before} to {after}, so the class is deleted "
                "and recreated: running workloads keep the old value, and pods created in the meantime are rejected",
            )


_PRIORITY_CLASS = (SCHEDULING_GROUP, "PriorityClass")


def _queues_with_children(changes: Sequence[ObjectChange]) -> Iterator[DestructiveChange]:
    gone = [change for change in changes if change.action == "delete" and is_queue(change.shown)]
    for change in gone:
        below = sorted({other.identity.name for other in gone if _parent(other.shown) == change.identity.name})
        if below:
            yield DestructiveChange(
                QUEUE_WITH_CHILDREN,
                change.identity,
                f"{change.identity.kind} {change.identity.name} is deleted with everything below it: "
                f"{', '.join(below)}",
            )


def _parent(manifest: Manifest) -> str | None:
    return next((name for reference in _parents(manifest) if (name := reference.name_in(manifest))), None)


def _parents(manifest: Manifest) -> tuple[Reference, ...]:
    kind = group_of(manifest), str(manifest.get("kind"))
    return tuple(
        reference
        for traits in TRAITS.values()
        for reference in traits.references
        if reference.is_parent and reference.kind == kind
    )
