"""The queues of a cluster at one point of an update, as an engine's webhook sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from apportion_compiler.plain_objects import Manifest

Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A queue's object, and the properties that an engine evaluates in relation to other queues.

    Attributes:
        manifest: The object.
        name: Its name.
        parent: The name of its parent, or of the engine's root.
        amounts: Additive amounts: in each list, the sum of the children must not exceed the parent's.
        limits: Limits of it and its descendants.
        claims: Exclusive claims of a queue, such as a namespace.
        keys: Resources that must equal the parent's.
        is_parent: Whether it is declared as a parent.
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
        """Return whether a webhook would have nothing to evaluate again."""
        return all(
            getattr(self, name) == getattr(other, name)
            for name in ("parent", "amounts", "limits", "claims", "keys", "is_parent")
        )

    def gives(self, after: QueueEntry) -> bool:
        """Return whether an amount is freed below its parent once it is as `after`."""
        return self.parent != after.parent or any(
            name not in shall or shall[name] < amount
            for has, shall in zip(self.amounts, after.amounts, strict=True)
            for name, amount in has.items()
        )


class State:
    """The queues at one point, with each queue's children.

    `ours` are the names of all queues of the change; any other parent is managed elsewhere, and exists.
    """

    def __init__(self, queues: Iterable[QueueEntry], root: str, ours: frozenset[str] = frozenset()) -> None:
        self.queues = {queue.name: queue for queue in queues}
        self.root = root
        self.ours = ours
        self.children: dict[str, dict[str, None]] = {}
        for queue in self.queues.values():
            self.children.setdefault(queue.parent, {})[queue.name] = None

    def copy(self) -> State:
        """Return an independent copy."""
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
        """Yield the current or wanted ancestors of a queue, the nearest first, ending at the start of a cycle."""
        parent, seen = queue.parent, {queue.name}
        while parent in self.queues and parent not in seen:
            seen.add(parent)
            yield self.queues[parent]
            parent = self.queues[parent].parent

    def differs(self, name: str, goal: State) -> bool:
        """Return whether a queue differs from the wanted one."""
        return name not in self.queues or self.queues[name].manifest != goal.queues[name].manifest

    def is_below_itself(self, queue: QueueEntry) -> bool:
        """Return whether a queue is its own ancestor."""
        return queue.parent == queue.name or any(above.parent == queue.name for above in self.above(queue))

    def parents_first(self) -> list[str]:
        """Return all names, parents first; a queue with an unknown parent is treated as top-level."""
        tops = [queue.name for queue in self.queues.values() if queue.parent not in self.queues]
        ordered: list[str] = []
        while tops:
            ordered += tops
            tops = [child for name in tops for child in self.children.get(name, ())]
        return ordered


@dataclass(frozen=True, slots=True)
class Model:
    """The constraints of one engine's webhook on the order.

    Attributes:
        root: The name of the parent of top-level queues.
        engines_own: Queues that the engine creates, which are never deleted.
        is_ordered: Returns whether an object is one of its queues.
        read: Parses an object as a queue.
        takes: Returns whether the webhook would accept a queue in a state.
        at_root: Returns a queue temporarily below the root, given the current and the wanted one.
        lowered: Returns a queue with the smaller of its current and wanted amounts, given the goal.
        begun: Returns a wanted queue without the amounts and claims that it takes from other queues.
        leaves: Returns whether a queue must be detached before it can move, given the current and the wanted one.
        refuses: Whether the engine rejects invalid states. Otherwise, queues are written in the order that violates the
            fewest guarantees, in one update.
    """

    root: str
    engines_own: frozenset[str]
    is_ordered: Callable[[Manifest], bool]
    read: Callable[[Manifest], QueueEntry]
    takes: Callable[[State, QueueEntry], bool]
    at_root: Callable[[QueueEntry, QueueEntry], Manifest]
    lowered: Callable[[QueueEntry, QueueEntry, State], Manifest]
    begun: Callable[[QueueEntry], Manifest]
    leaves: Callable[[QueueEntry, QueueEntry], bool] = lambda has, shall: has.parent != shall.parent
    refuses: bool = True
