"""The queues of a cluster as Volcano's webhook sees them: existing and applied ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apportion_api.objects import read_all
from apportion_api.volcano.names import ROOT_QUEUE, SHARED_QUEUE
from apportion_api.volcano.objects import Queue
from apportion_compiler.engine_rules.verdict import Manifest
from apportion_compiler.engines.volcano.emit.resource_lists import counts


@dataclass(frozen=True, slots=True)
class QueueTree:
    """Every queue by its name, and the names of each queue's children.

    Attributes:
        queues: The queues after everything is applied.
        before: The existing queues.
        children: Children by explicit parent; queues without one are not listed.
        is_whole: Whether all queues of the cluster are known, so that a missing one does not exist.
    """

    queues: Mapping[str, Queue]
    before: Mapping[str, Queue]
    children: Mapping[str, tuple[str, ...]]
    is_whole: bool

    def has(self, name: str) -> bool:
        """Return whether a queue exists; Volcano creates two of its own."""
        return name in self.queues or name in (ROOT_QUEUE, SHARED_QUEUE)


def queue_tree(manifests: Sequence[Manifest], existing: Sequence[Manifest]) -> QueueTree:
    """Return the tree; the later of two objects with the same name is used."""
    before = {queue.name: queue for queue in read_all(Queue, existing)}
    applied = {queue.name: queue for queue in read_all(Queue, manifests)}
    queues = {**before, **applied}
    children: dict[str, list[str]] = {}
    for name, queue in queues.items():
        if (parent := queue.parent) is not None:
            children.setdefault(parent, []).append(name)
    return QueueTree(queues, before, {parent: tuple(names) for parent, names in children.items()}, bool(queues))


def is_below_queue(queue: Queue) -> bool:
    """Return whether a queue has a parent other than root; the amounts of root are not checked."""
    return queue.parent not in (None, ROOT_QUEUE)


def capability(queue: Queue) -> dict[str, int]:
    """Return the queue's `capability`."""
    return counts(queue.capability)


def deserved(queue: Queue) -> dict[str, int]:
    """Return the queue's `deserved`."""
    return counts(queue.deserved)


def guarantee(queue: Queue) -> dict[str, int]:
    """Return the queue's `guarantee`."""
    return counts(queue.guarantee)


def has_pods(queue: Queue) -> bool:
    """Return whether the queue has running pods, according to its status."""
    return counts(queue.allocated).get("pods", 0) > 0
