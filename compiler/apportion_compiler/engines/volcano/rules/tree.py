"""The queues of a cluster as Volcano's webhook sees them: what there is already, and what shall be applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apportion_compiler.engine_rules.verdict import Manifest
from apportion_compiler.engines.volcano.emit.resource_lists import counts
from apportion_compiler.engines.volcano.names import ROOT_QUEUE, SHARED_QUEUE
from apportion_compiler.plain_objects import mapping, name_of, of_kind, text

SCHEDULING_GROUP = "scheduling.volcano.sh"


@dataclass(frozen=True, slots=True)
class QueueTree:
    """Every queue by its name, and the names of each queue's children.

    Attributes:
        queues: What the cluster has once everything is applied.
        before: What it had.
        children: By the parent that is written; queues that name none are children of nobody.
        is_whole: Whether the queues of the cluster are known, so that one that is missing does not exist.
    """

    queues: Mapping[str, Manifest]
    before: Mapping[str, Manifest]
    children: Mapping[str, tuple[str, ...]]
    is_whole: bool

    def has(self, name: str) -> bool:
        """Tell whether there is a queue; Volcano makes two of its own."""
        return name in self.queues or name in (ROOT_QUEUE, SHARED_QUEUE)


def queue_tree(manifests: Sequence[Manifest], existing: Sequence[Manifest]) -> QueueTree:
    """Return the tree; of two objects of one name the later holds."""
    before = {name_of(m): m for m in of_kind(existing, SCHEDULING_GROUP, "Queue")}
    applied = {name_of(m): m for m in of_kind(manifests, SCHEDULING_GROUP, "Queue")}
    queues = {**before, **applied}
    children: dict[str, list[str]] = {}
    for name, queue in queues.items():
        if (parent := parent_of(queue)) is not None:
            children.setdefault(parent, []).append(name)
    return QueueTree(queues, before, {parent: tuple(names) for parent, names in children.items()}, bool(queues))


def parent_of(queue: Manifest) -> str | None:
    """Return the parent that is written."""
    return text(queue, "spec", "parent")


def is_below_queue(queue: Manifest) -> bool:
    """Tell whether a queue hangs below another than root, whose amounts nobody checks."""
    return parent_of(queue) not in (None, ROOT_QUEUE)


def capability(queue: Manifest) -> dict[str, int]:
    """Return what the queue is limited to."""
    return counts(mapping(queue, "spec", "capability"))


def deserved(queue: Manifest) -> dict[str, int]:
    """Return what the queue deserves."""
    return counts(mapping(queue, "spec", "deserved"))


def guarantee(queue: Manifest) -> dict[str, int]:
    """Return what is kept back for the queue."""
    return counts(mapping(queue, "spec", "guarantee", "resource"))


def has_pods(queue: Manifest) -> bool:
    """Tell whether pods run in the queue, as far as its status says."""
    return counts(mapping(queue, "status", "allocated")).get("pods", 0) > 0
