"""The queues of a cluster at one moment, as an engine's webhook sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from apportion_compiler.plain_objects import Manifest

Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A queue's object, and what of it an engine evaluates beside other queues.

    Attributes:
        manifest: The object.
        name: Its name.
        parent: The name of the queue above it, or the engine's root.
        amounts: What it holds in sums: of each list, the children's must fit into the parent's.
        limits: What bounds it and the queues below it.
        claims: What one queue alone can have, such as a namespace.
        keys: Resources that must agree with the parent's.
        is_parent: Whether it says of itself that others may hang below it.
    """

    manifest: Manifest
    name: str
    parent: str
    amounts: tuple[Counts, ...] = ()
    limits: Counts = field(default_factory=dict)
    claims: frozenset[str] = frozenset()
    keys: tuple[frozenset[str], ...] = ()
    is_parent: bool = True

    def is_equivalent(self, other: QueueEntry) -> bool:
        """Tell whether a webhook would find nothing to evaluate anew."""
        return all(
            getattr(self, name) == getattr(other, name)
            for name in ("parent", "amounts", "limits", "claims", "keys", "is_parent")
        )

    def gives(self, after: QueueEntry) -> bool:
        """Tell whether something becomes free where it hangs, once it is as `after`."""
        return self.parent != after.parent or any(
            name not in shall or shall[name] < amount
            for has, shall in zip(self.amounts, after.amounts, strict=True)
            for name, amount in has.items()
        )


class State:
    """The queues at one moment, with each queue's children.

    `ours` are the names of all queues of the change; a parent that is none of them is somebody else's, and there.
    """

    def __init__(self, queues: Iterable[QueueEntry], root: str, ours: frozenset[str] = frozenset()) -> None:
        self.queues = {queue.name: queue for queue in queues}
        self.root = root
        self.ours = ours
        self.children: dict[str, dict[str, None]] = {}
        for queue in self.queues.values():
            self.children.setdefault(queue.parent, {})[queue.name] = None

    def copy(self) -> State:
        """Return a state that changes by itself."""
        return State(self.queues.values(), self.root, self.ours)

    def apply(self, queue: QueueEntry) -> None:
        """Write a queue."""
        if queue.name in self.queues:
            del self.children[self.queues[queue.name].parent][queue.name]
        self.queues[queue.name] = queue
        self.children.setdefault(queue.parent, {})[queue.name] = None

    def delete(self, name: str) -> QueueEntry:
        """Delete a queue and return it."""
        queue = self.queues.pop(name)
        del self.children[queue.parent][name]
        return queue

    def below(self, name: str) -> list[QueueEntry]:
        """Return a queue's children."""
        return [self.queues[child] for child in self.children.get(name, ())]

    def above(self, queue: QueueEntry) -> Iterator[QueueEntry]:
        """Yield the queues above one that is here or shall be, the nearest first; a cycle ends where it closes."""
        parent, seen = queue.parent, {queue.name}
        while parent in self.queues and parent not in seen:
            seen.add(parent)
            yield self.queues[parent]
            parent = self.queues[parent].parent

    def differs(self, name: str, goal: State) -> bool:
        """Tell whether a queue is not as it shall be."""
        return name not in self.queues or self.queues[name].manifest != goal.queues[name].manifest

    def is_below_itself(self, queue: QueueEntry) -> bool:
        """Tell whether a queue's parents lead back to it."""
        return queue.parent == queue.name or any(above.parent == queue.name for above in self.above(queue))

    def parents_first(self) -> list[str]:
        """Return all names, parents first; a queue whose parent is not here counts as a top-level one."""
        tops = [queue.name for queue in self.queues.values() if queue.parent not in self.queues]
        ordered: list[str] = []
        while tops:
            ordered += tops
            tops = [child for name in tops for child in self.children.get(name, ())]
        return ordered


@dataclass(frozen=True, slots=True)
class Model:
    """What one engine's webhook asks of the order.

    Attributes:
        root: The name that stands above top-level queues.
        engines_own: Queues that the engine makes, which are never deleted.
        is_ordered: Whether an object is one of its queues.
        read: An object as a queue.
        takes: Whether the webhook would take a queue into a cluster as it is.
        at_root: A queue below the root for a moment, given what it is and what it shall be.
        lowered: A queue with the smaller of what it is and what it shall be, given the goal.
        leaves: Whether a queue, given what it is and what it shall be, must leave its place before it can have another.
        refuses: Whether the engine refuses what it does not take. One that does not is still written in the order that
            breaks the fewest promises, but in one go.
    """

    root: str
    engines_own: frozenset[str]
    is_ordered: Callable[[Manifest], bool]
    read: Callable[[Manifest], QueueEntry]
    takes: Callable[[State, QueueEntry], bool]
    at_root: Callable[[QueueEntry, QueueEntry], Manifest]
    lowered: Callable[[QueueEntry, QueueEntry, State], Manifest]
    leaves: Callable[[QueueEntry, QueueEntry], bool] = lambda has, shall: has.parent != shall.parent
    refuses: bool = True
