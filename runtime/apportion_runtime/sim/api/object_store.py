"""The object store: Kubernetes objects as plain dictionaries by kind, namespace and name.

`ClusterApi` is the complete interface that the simulation uses; `ObjectStore` keeps the objects in memory. The objects it
returns must not be modified: to change an object, write a new one, which may share unchanged parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from apportion_runtime.admission.generated_names import generated_name
from apportion_runtime.sim.api.clock import Clock
from apportion_runtime.snapshots.kubernetes.gpus import gpu_group_labels

Manifest = Mapping[str, Any]
Key = tuple[str, str]
"""Namespace and name."""
_UID_PREFIX = "00000000-0000-4000-8000-"
_GENERATED_UID = re.compile(f"{_UID_PREFIX}([0-9a-f]{{12}})")


@dataclass(frozen=True, slots=True)
class Change:
    """A change of an object; for a deletion, its last state."""

    what: Literal["added", "modified", "deleted"]
    made: Manifest


class Conflict(ValueError):
    """The object already exists, or does not exist."""


class Unnamed(ValueError):
    """An object with neither `name` nor `generateName`."""


class Refused(RuntimeError):
    """The cluster rejects a request."""


class ClusterApi(Protocol):
    """A cluster."""

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return an object; None if it does not exist."""
        ...

    def list(self, kind: str) -> Sequence[Manifest]:
        """Return all objects of a kind, in order of creation."""
        ...

    def watch(self, kind: str, callback: Callable[[Change], None]) -> None:
        """Subscribe to changes of a kind's objects."""
        ...

    def create(self, made: Manifest) -> Manifest:
        """Create an object and return it with its uid. Raises `Conflict` if it exists."""
        ...

    def update(self, made: Manifest) -> Manifest:
        """Replace an object. Raises `Conflict` if it does not exist."""
        ...

    def patch_status(self, kind: str, namespace: str, name: str, status: Mapping[str, Any]) -> Manifest:
        """Patch the status of an object. Raises `Conflict` if it does not exist."""
        ...

    def set_status(self, kind: str, namespace: str, name: str, status: Mapping[str, Any]) -> None:
        """Patch the status of an object without returning it. Raises `Conflict` if it does not exist."""
        ...

    def delete(self, kind: str, namespace: str, name: str) -> Manifest:
        """Delete an object immediately and return it. Raises `Conflict` if it does not exist."""
        ...

    def discard(self, kind: str, namespace: str, name: str) -> None:
        """Delete an object immediately if it exists."""
        ...

    def bind(self, namespace: str, pod: str, node: str, gpu_groups: Sequence[str]) -> Manifest:
        """Bind a pod to a node, and to the devices that it shares there. Raises `Conflict`, `Refused`."""
        ...

    def evict(self, namespace: str, pod: str) -> Manifest:
        """Begin to delete a pod. Raises `Conflict` if it does not exist, `Refused` if a budget forbids it."""
        ...


def last_uid_number(objects: Iterable[Manifest]) -> int:
    """Return the largest number of a generated uid among objects; 0 without one."""
    uids = ((made.get("metadata") or {}).get("uid") for made in objects)
    return max((int(found[1], 16) for uid in uids if (found := _GENERATED_UID.fullmatch(str(uid)))), default=0)


class ObjectStore:
    """A cluster in memory.

    Args:
        clock: The source of timestamps.
        may_evict: Called before each eviction; returns False if a disruption budget forbids it.
        n_made: Number of the last uid that was generated before, for a snapshot of a simulation.
    """

    def __init__(
        self, clock: Clock, may_evict: Callable[[Manifest], bool] = lambda pod: True, *, n_made: int = 0
    ) -> None:
        self._clock = clock
        self._may_evict = may_evict
        self._objects: dict[str, dict[Key, Manifest]] = {}
        self._watchers: dict[str, list[Callable[[Change], None]]] = {}
        # By kind and key: patches of a status with their versions, which are applied when the object is read.
        self._patches: dict[str, dict[Key, list[tuple[int, Mapping[str, Any]]]]] = {}
        self._version = 0
        self._n_made = n_made

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return an object; None if it does not exist."""
        key, patches = (namespace, name), self._patches.get(kind)
        if patches is not None and key in patches:
            self._apply(kind, key)
        of_kind = self._objects.get(kind)
        return None if of_kind is None else of_kind.get(key)

    def _apply(self, kind: str, key: Key) -> None:
        """Apply the patches of an object."""
        of_kind, made = self._objects[kind], self._objects[kind][key]
        for version, status in self._patches[kind].pop(key):
            patched = {**made, "status": {**made.get("status", {}), **status}}
            patched["metadata"] = {**made["metadata"], "resourceVersion": str(version)}
            made = of_kind[key] = patched

    def list(self, kind: str) -> Sequence[Manifest]:
        """Return all objects of a kind, in order of creation."""
        for key in tuple(self._patches.get(kind, ())):
            self._apply(kind, key)
        return tuple(self._objects.get(kind, {}).values())

    def watch(self, kind: str, callback: Callable[[Change], None]) -> None:
        """Subscribe to changes of a kind's objects."""
        self._watchers.setdefault(kind, []).append(callback)

    def create(self, made: Manifest) -> Manifest:
        """Create an object and return it with its uid. Raises `Conflict` if it exists, `Unnamed`."""
        made = self._named(made)
        kind, key = str(made["kind"]), _key(made)
        of_kind = self._objects.setdefault(kind, {})
        if key in of_kind:
            raise Conflict(f"{kind} {'/'.join(filter(None, key))} already exists")
        self._n_made += 1
        metadata = made["metadata"]
        uid = metadata.get("uid") or f"{_UID_PREFIX}{self._n_made:012x}"
        created = metadata.get("creationTimestamp") or self._clock.text
        return self._write({**made}, {**metadata, "uid": uid, "creationTimestamp": created}, "added")

    def _named(self, made: Manifest) -> Manifest:
        metadata = made["metadata"]
        if metadata.get("name"):
            return made
        prefix = metadata.get("generateName")
        if not prefix:
            raise Unnamed(f"an object of kind {made['kind']} has no name")
        return {**made, "metadata": {**metadata, "name": generated_name(str(prefix), str(self._n_made))}}

    def create_like(self, made: Manifest, name: str, labels: Mapping[str, str], *, n_writes: int) -> Manifest | None:
        """Create an object that differs from another in its name, uid and labels, as if written several times.

        None if it exists, or if its kind is watched: watchers see each write.
        """
        kind, metadata = made["kind"], made["metadata"]
        of_kind, key = self._objects[kind], (metadata.get("namespace") or "", name)
        if key in of_kind or self._watchers.get(kind):
            return None
        self._n_made += 1
        self._version += n_writes
        own = {
            "name": name,
            "labels": labels,
            "uid": f"{_UID_PREFIX}{self._n_made:012x}",
            "resourceVersion": str(self._version),
        }
        created = of_kind[key] = {**made, "metadata": {**metadata, **own}}
        return created

    def update(self, made: Manifest) -> Manifest:
        """Replace an object. Raises `Conflict` if it does not exist."""
        self._there(str(made["kind"]), *_key(made))
        return self._write({**made}, {**made["metadata"]}, "modified")

    def patch_status(self, kind: str, namespace: str, name: str, status: Mapping[str, Any]) -> Manifest:
        """Patch the status of an object. Raises `Conflict` if it does not exist."""
        before = self._there(kind, namespace, name)
        patched = {**before, "status": {**before.get("status", {}), **status}}
        return self._write(patched, {**before["metadata"]}, "modified")

    def set_status(self, kind: str, namespace: str, name: str, status: Mapping[str, Any]) -> None:
        """Patch the status of an object without returning it. Raises `Conflict` if it does not exist.

        The object is written when it is read, unless its kind is watched.
        """
        key = namespace, name
        if self._watchers.get(kind) or key not in self._objects.get(kind, {}):
            self.patch_status(kind, namespace, name, status)
            return
        self._version += 1
        self._patches.setdefault(kind, {}).setdefault(key, []).append((self._version, status))

    def discard(self, kind: str, namespace: str, name: str) -> None:
        """Delete an object immediately if it exists."""
        if self._watchers.get(kind):
            if self.get(kind, namespace, name) is not None:
                self.delete(kind, namespace, name)
            return
        key = namespace, name
        self._objects.get(kind, {}).pop(key, None)
        self._patches.get(kind, {}).pop(key, None)

    def delete(self, kind: str, namespace: str, name: str) -> Manifest:
        """Delete an object immediately and return it. Raises `Conflict` if it does not exist."""
        before = self._there(kind, namespace, name)
        del self._objects[kind][namespace, name]
        self._tell(kind, "deleted", before)
        return before

    def bind(self, namespace: str, pod: str, node: str, gpu_groups: Sequence[str]) -> Manifest:
        """Bind a pod to a node, and to the devices that it shares there. Raises `Conflict`, `Refused`."""
        before = self._there("Pod", namespace, pod)
        if self.get("Node", "", node) is None:
            raise Refused(f"node {node} does not exist")
        metadata = {**before["metadata"]}
        if before["spec"].get("nodeName") or metadata.get("deletionTimestamp"):
            raise Refused(f"pod {namespace}/{pod} can no longer be bound")
        if gpu_groups:
            metadata["labels"] = {**(metadata.get("labels") or {}), **gpu_group_labels(gpu_groups)}
        return self._write({**before, "spec": {**before["spec"], "nodeName": node}}, metadata, "modified")

    def evict(self, namespace: str, pod: str) -> Manifest:
        """Begin to delete a pod. Raises `Conflict` if it does not exist, `Refused` if a budget forbids it."""
        before = self._there("Pod", namespace, pod)
        if before["metadata"].get("deletionTimestamp"):
            return before
        if not self._may_evict(before):
            raise Refused(f"pod {namespace}/{pod} cannot be evicted now")
        return self._write({**before}, {**before["metadata"], "deletionTimestamp": self._clock.text}, "modified")

    def _there(self, kind: str, namespace: str, name: str) -> Manifest:
        found = self.get(kind, namespace, name)
        if found is None:
            raise Conflict(f"{kind} {'/'.join(filter(None, (namespace, name)))} does not exist")
        return found

    def _write(self, made: dict[str, Any], metadata: dict[str, Any], what: Literal["added", "modified"]) -> Manifest:
        """Store an object with its metadata; both are new mappings."""
        self._version += 1
        metadata["resourceVersion"] = str(self._version)
        made["metadata"] = metadata
        kind = str(made["kind"])
        self._objects[kind][metadata.get("namespace") or "", metadata["name"]] = made
        self._tell(kind, what, made)
        return made

    def _tell(self, kind: str, what: Literal["added", "modified", "deleted"], made: Manifest) -> None:
        watchers = self._watchers.get(kind)
        if watchers:
            change = Change(what, made)
            for callback in watchers:
                callback(change)


def _key(made: Manifest) -> Key:
    metadata = made["metadata"]
    return metadata.get("namespace") or "", metadata["name"]
