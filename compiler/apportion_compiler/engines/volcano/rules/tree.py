"""The queues of a cluster as Volcano's webhook sees them: what there is already, and what shall be applied."""

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
        queues: What the cluster has once everything is applied.
        before: What it had.
        children: By the parent that is written; queues that name none are children of nobody.
        is_whole: Whether the queues of the cluster are known, so that one that is missing does not exist.
    """

    queues: Mapping[str, Queue]
    before: Mapping[str, Queue]
    children: Mapping[str, tuple[str, ...]]
    is_whole: bool

    def has(self, name: str) -> bool:
        """Tell whether there is a queue; Volcano makes two of its own."""
        return name in self.queues or name in (ROOT_QUEUE, SHARED_QUEUE)


def queue_tree(manifests: Sequence[Manifest], existing: Sequence[Manifest]) -> QueueTree:
    """Return the tree; of two objects of one name the later holds."""
    before = {queue.name: queue for queue in read_all(Queue, existing)}
    applied = {queue.name: queue for queue in read_all(Queue, manifests)}
    queues = {**before, **applied}
    children: dict[str, list[str]] = {}
    for name, queue in queues.items():
        if (parent := queue.parent) is not None:
            children.setdefault(parent, []).append(name)
    return QueueTree(queues, before, {parent: tuple(names) for parent, names in children.items()}, bool(queues))


def is_below_queue(queue: Queue) -> bool:
    """Tell whether a queue hangs below another than root, whose amounts nobody checks."""
    return queue.parent not in (None, ROOT_QUEUE)


def capability(queue: Queue) -> dict[str, int]:
    """Return what the queue is limited to."""
    return counts(queue.capability)


def deserved(queue: Queue) -> dict[str, int]:
    """Return what the queue deserves."""
    return counts(queue.deserved)


def guarantee(queue: Queue) -> dict[str, int]:
    """Return what is kept back for the queue."""
    return counts(queue.guarantee)


def has_pods(queue: Queue) -> bool:
    """Tell whether pods run in the queue, as far as its status says."""
    return counts(queue.allocated).get("pods", 0) > 0
