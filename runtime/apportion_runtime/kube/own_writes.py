"""Which events of a watch are the scheduler's own writes, also those that it delivers before the response.

While the response of a write is outstanding, the events of its object are undecided. With the response, those with the
resource version of its result are known as own, and any other one starts a cycle, as it would have without the write.
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

    def forget_kind(self, kind: str) -> None:
        """Forget the versions of a kind that was listed again: earlier events are not delivered."""
        self._versions = {key: versions for key, versions in self._versions.items() if key[0] != kind}


def _version(manifest: Manifest) -> str | None:
    version: str | None = manifest["metadata"].get("resourceVersion")
    return version
