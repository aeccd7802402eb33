"""The objects of a cluster as Kubernetes' API holds them: plain dictionaries by kind, namespace and name.

`ClusterApi` is what the simulation asks of a cluster, and all that it asks; `ObjectStore` holds the objects itself. What it
returns is its own: whoever wants another object writes one, and shares what stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from apportion_api.kai.names import GPU_GROUP_LABEL
from apportion_runtime.sim.api.clock import Clock
from apportion_runtime.sim.api.generated_names import generated_name

Manifest = Mapping[str, Any]
Key = tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to an object; of a deleted one, as it was last."""

    what: Literal["added", "modified", "deleted"]
    made: Manifest


class Conflict(ValueError):
    """An object that is there already, or one that is not."""


class Unnamed(ValueError):
    """An object that says neither its name nor what a generated one begins with."""


class Refused(RuntimeError):
    """The cluster does not do what it was asked for."""


class ClusterApi(Protocol):
    """A cluster."""

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return an object, None where there is none."""
        ...

    def list(self, kind: str) -> Sequence[Manifest]:
        """Return all objects of a kind, in the order in which they were made."""
        ...

    def watch(self, kind: str, told: Callable[[Change], None]) -> None:
        """Have every change of a kind's objects told from now on."""
        ...

    def create(self, made: Manifest) -> Manifest:
        """Make an object and return it with its uid. Raises `Conflict` if it is there."""
        ...

    def update(self, made: Manifest) -> Manifest:
        """Write another object in the place of one. Raises `Conflict` if there is none."""
        ...

    def patch_status(self, kind: str, namespace: str, name: str, status: Mapping[str, Any]) -> Manifest:
        """Write some fields of an object's status. Raises `Conflict` if there is none."""
        ...

    def delete(self, kind: str, namespace: str, name: str) -> Manifest:
        """Take an object away at once and return it. Raises `Conflict` if there is none."""
        ...

    def bind(self, namespace: str, pod: str, node: str, gpu_groups: Sequence[str]) -> Manifest:
        """Give a pod its node, and the devices that it shares there. Raises `Conflict`, `Refused`."""
        ...

    def evict(self, namespace: str, pod: str) -> Manifest:
        """Begin to delete a pod. Raises `Conflict` if there is none, `Refused` where that is not allowed."""
        ...


class ObjectStore:
    """A cluster that is held in memory.

    Args:
        clock: Gives the moments that are written.
        may_evict: Asked before each eviction; a budget that is used up refuses.
    """

    def __init__(self, clock: Clock, may_evict: Callable[[Manifest], bool] = lambda pod: True) -> None:
        self._clock = clock
        self._may_evict = may_evict
        self._objects: dict[str, dict[Key, Manifest]] = {}
        self._watchers: dict[str, list[Callable[[Change], None]]] = {}
        self._version = 0
        self._n_made = 0

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return an object, None where there is none."""
        return self._objects.get(kind, {}).get((namespace, name))

    def list(self, kind: str) -> Sequence[Manifest]:
        """Return all objects of a kind, in the order in which they were made."""
        return tuple(self._objects.get(kind, {}).values())

    def watch(self, kind: str, told: Callable[[Change], None]) -> None:
        """Have every change of a kind's objects told from now on."""
        self._watchers.setdefault(kind, []).append(told)

    def create(self, made: Manifest) -> Manifest:
        """Make an object and return it with its uid. Raises `Conflict` if it is there, `Unnamed`."""
        made = self._named(made)
        kind, key = str(made["kind"]), _key(made)
        of_kind = self._objects.setdefault(kind, {})
        if key in of_kind:
            raise Conflict(f"{kind} {'/'.join(filter(None, key))} already exists")
        self._n_made += 1
        metadata = {
            **made["metadata"],
            "uid": made["metadata"].get("uid") or f"00000000-0000-4000-8000-{self._n_made:012x}",
            "creationTimestamp": made["metadata"].get("creationTimestamp") or self._clock.text,
        }
        return self._write({**made, "metadata": metadata}, "added")

    def _named(self, made: Manifest) -> Manifest:
        metadata = made["metadata"]
        if metadata.get("name"):
            return made
        prefix = metadata.get("generateName")
        if not prefix:
            raise Unnamed(f"an object of kind {made['kind']} has no name")
        return {**made, "metadata": {**metadata, "name": generated_name(str(prefix), str(self._n_made))}}

    def update(self, made: Manifest) -> Manifest:
        """Write another object in the place of one. Raises `Conflict` if there is none."""
        self._there(str(made["kind"]), *_key(made))
        return self._write(made, "modified")

    def patch_status(self, kind: str, namespace: str, name: str, status: Mapping[str, Any]) -> Manifest:
        """Write some fields of an object's status. Raises `Conflict` if there is none."""
        before = self._there(kind, namespace, name)
        return self._write({**before, "status": {**before.get("status", {}), **status}}, "modified")

    def delete(self, kind: str, namespace: str, name: str) -> Manifest:
        """Take an object away at once and return it. Raises `Conflict` if there is none."""
        before = self._there(kind, namespace, name)
        del self._objects[kind][namespace, name]
        self._tell(kind, Change("deleted", before))
        return before

    def bind(self, namespace: str, pod: str, node: str, gpu_groups: Sequence[str]) -> Manifest:
        """Give a pod its node, and the devices that it shares there. Raises `Conflict`, `Refused`."""
        before = self._there("Pod", namespace, pod)
        if self.get("Node", "", node) is None:
            raise Refused(f"there is no node {node}")
        metadata = before["metadata"]
        if before["spec"].get("nodeName") or metadata.get("deletionTimestamp"):
            raise Refused(f"pod {namespace}/{pod} can no longer be bound")
        if gpu_groups:
            first, *others = gpu_groups
            labels = {GPU_GROUP_LABEL: first, **{f"{GPU_GROUP_LABEL}/{group}": group for group in others}}
            metadata = {**metadata, "labels": {**(metadata.get("labels") or {}), **labels}}
        return self._write({**before, "metadata": metadata, "spec": {**before["spec"], "nodeName": node}}, "modified")

    def evict(self, namespace: str, pod: str) -> Manifest:
        """Begin to delete a pod. Raises `Conflict` if there is none, `Refused` where that is not allowed."""
        before = self._there("Pod", namespace, pod)
        if before["metadata"].get("deletionTimestamp"):
            return before
        if not self._may_evict(before):
            raise Refused(f"pod {namespace}/{pod} cannot be evicted now")
        metadata = {**before["metadata"], "deletionTimestamp": self._clock.text}
        return self._write({**before, "metadata": metadata}, "modified")

    def _there(self, kind: str, namespace: str, name: str) -> Manifest:
        found = self.get(kind, namespace, name)
        if found is None:
            raise Conflict(f"there is no {kind} {'/'.join(filter(None, (namespace, name)))}")
        return found

    def _write(self, made: Manifest, what: Literal["added", "modified"]) -> Manifest:
        self._version += 1
        kind = str(made["kind"])
        made = {**made, "metadata": {**made["metadata"], "resourceVersion": str(self._version)}}
        self._objects[kind][_key(made)] = made
        self._tell(kind, Change(what, made))
        return made

    def _tell(self, kind: str, change: Change) -> None:
        for told in self._watchers.get(kind, ()):
            told(change)


def _key(made: Manifest) -> Key:
    metadata = made["metadata"]
    return metadata.get("namespace") or "", metadata["name"]
