"""Objects by kind, and what changed since each consumer last asked: a consumer's cost is that of the changes.

Not for several threads at once; the caller locks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from weakref import WeakKeyDictionary

from apportion_runtime.kube.cluster import Change, Key, Manifest, ObjectKey


class ObjectStore:
    """The objects of some kinds.

    Args:
        kinds: The kinds, in the order in which their objects are returned.
    """

    def __init__(self, kinds: Iterable[str] = ()) -> None:
        self._held: dict[str, dict[Key, Manifest]] = {kind: {} for kind in kinds}
        # For each consumer, the objects that have changed since it asked, as they were then. A consumer that is not
        # used any more takes its changes with it.
        self._changed: WeakKeyDictionary[object, dict[ObjectKey, Manifest | None]] = WeakKeyDictionary()

    def of(self, kind: str) -> Mapping[Key, Manifest]:
        """Return the objects of a kind, as they are at any time."""
        return self._held.setdefault(kind, {})

    def objects(self, *kinds: str) -> Sequence[Manifest]:
        """Return the objects of some kinds; of all, if none is given."""
        return [one for kind in kinds or self._held for one in self.of(kind).values()]

    def put(self, kind: str, key: Key, one: Manifest) -> None:
        """Add or replace an object."""
        held = self._held.setdefault(kind, {})
        self._note(kind, key, held.get(key))
        held[key] = one

    def drop(self, kind: str, key: Key) -> Manifest | None:
        """Remove an object, and return it if it exists."""
        before = self._held.setdefault(kind, {}).pop(key, None)
        if before is None:
            return None
        self._note(kind, key, before)
        for changed in self._changed.values():
            # A consumer that no longer asks must not keep what came and went.
            if changed[kind, key] is None:
                del changed[kind, key]
        return before

    def replace(self, kind: str, found: Mapping[Key, Manifest]) -> None:
        """Replace all objects of a kind."""
        before = self.of(kind)
        for key in (*found, *before):
            self._note(kind, key, before.get(key))
        self._held[kind] = dict(found)

    def changes(self, consumer: object) -> Sequence[Change]:
        """Return the changes since the consumer's last call; all objects in its first call.

        Consumers are told apart by identity. An object that was replaced by another mapping has changed.
        """
        changed = self._changed.get(consumer)
        self._changed[consumer] = {}
        if changed is None:
            return [Change(kind, key, None, one) for kind, held in self._held.items() for key, one in held.items()]
        found = (Change(kind, key, before, self.of(kind).get(key)) for (kind, key), before in changed.items())
        return [change for change in found if change.before is not change.after]

    def _note(self, kind: str, key: Key, before: Manifest | None) -> None:
        for changed in self._changed.values():
            changed.setdefault((kind, key), before)
