"""Which events of a watch are the scheduler's own writes, also those that it delivers before the response.

While the response of a write is outstanding, the events of its object are undecided. With the response, those with the
resource version of its result are known as own, and any other one starts a cycle, as it would have without the write. If the
result replaces the cached object before the watch delivers earlier changes, these are compared with the replaced object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from apportion_runtime.kube.cluster import Manifest, ObjectKey

IsOwn = Callable[[Manifest | None, Manifest], bool]
"""Whether an event is an own write, by the object before and after it."""


class OwnWrites:
    """The writes without a response, and the versions that own writes produced and no watch has delivered."""

    def __init__(self) -> None:
        self._open: Counter[ObjectKey] = Counter()
        self._undecided: dict[ObjectKey, list[tuple[Manifest | None, Manifest]]] = {}
        self._versions: dict[ObjectKey, set[str]] = {}
        # The last version that a watch delivered of each object that the cache has in a later version.
        self._delivered: dict[ObjectKey, Manifest] = {}

    def begin(self, key: ObjectKey) -> None:
        """Record that a write is about to be sent."""
        self._open[key] += 1

    def end(self, key: ObjectKey) -> bool:
        """Record that a write has ended; return whether its object has an event of another writer."""
        self._open[key] -= 1
        if self._open[key]:
            return False
        del self._open[key]
        return bool(self._undecided.pop(key, None))

    def stored(self, key: ObjectKey, made: Manifest, held: Manifest | None) -> None:
        """Record the object that the API server returned for a write; `held` is the cached object."""
        version = _version(made)
        if version is None or key not in self._open:
            return
        is_delivered = self.decide(key, lambda _, after: _version(after) == version)
        # A patch that changes nothing has the version of the object, and no event.
        if not is_delivered and (held is None or _version(held) != version):
            self._versions.setdefault(key, set()).add(version)

    def replaces(self, key: ObjectKey, held: Manifest, made: Manifest) -> None:
        """Record that an object from a response replaces the cached one, maybe before a watch delivers it."""
        if is_older(held, made):
            self._delivered.setdefault(key, held)

    def receive(self, key: ObjectKey, held: Manifest | None, after: Manifest, *, is_stale: bool) -> Manifest | None:
        """Record an event, and return the object as it was before it.

        Args:
            key: The object.
            held: The cached object.
            after: The object that the watch delivers.
            is_stale: Whether the cache has a later version.
        """
        before = self._delivered.pop(key, held)
        if is_stale:
            self._delivered[key] = after
        return before

    def decide(self, key: ObjectKey, is_own: IsOwn) -> bool:
        """Drop the undecided events that are own writes, and return whether there are any."""
        undecided = self._undecided.get(key, [])
        left = [event for event in undecided if not is_own(*event)]
        if len(left) == len(undecided):
            return False
        self._undecided[key] = left
        return True

    def is_own(self, key: ObjectKey, after: Manifest) -> bool:
        """Return whether an event has the result of an own write, and forget this result."""
        version, versions = _version(after), self._versions.get(key)
        if versions is None or version not in versions:
            return False
        versions.discard(version)
        if not versions:
            del self._versions[key]
        return True

    def defers(self, key: ObjectKey, before: Manifest | None, after: Manifest) -> bool:
        """Return whether an event cannot be decided before the response of a write."""
        if key in self._open:
            self._undecided.setdefault(key, []).append((before, after))
        return key in self._open

    def forget(self, key: ObjectKey) -> None:
        """Forget an object that no longer exists: no event of it follows."""
        self._versions.pop(key, None)
        self._delivered.pop(key, None)

    def forget_kind(self, kind: str) -> None:
        """Forget the versions of a kind that was listed again: earlier events are not delivered."""
        self._versions = {key: versions for key, versions in self._versions.items() if key[0] != kind}
        self._delivered = {key: delivered for key, delivered in self._delivered.items() if key[0] != kind}


def _version(manifest: Manifest) -> str | None:
    version: str | None = manifest["metadata"].get("resourceVersion")
    return version


def is_older(one: Manifest, other: Manifest) -> bool:
    """Return whether an object is an earlier version of another one."""
    metadata, versions = one["metadata"], [each["metadata"].get("resourceVersion") for each in (one, other)]
    if metadata.get("uid") != other["metadata"].get("uid") or None in versions:
        return False
    return int(versions[0]) < int(versions[1])
