"""The scheduler's interface to a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

Manifest = Mapping[str, Any]
Key = tuple[str, str]
"""Namespace, empty if there is none, and name."""
ObjectKey = tuple[str, Key]
"""Kind, and namespace and name."""


class Change(NamedTuple):
    """A change of one object between two cycles; of several changes, the first and the last version.

    Attributes:
        kind: The kind of the object.
        key: Its namespace and name.
        before: The object as it was; None if it did not exist.
        after: The object as it is, which is another mapping; None if it does not exist any more.
    """

    kind: str
    key: Key
    before: Manifest | None
    after: Manifest | None


class ObjectAccess(Protocol):
    """Reads and writes of single objects, for several threads.

    A rejected write raises `errors.Refused`, one without a response `errors.Unreachable`, and one without the lease
    `errors.NotLeader`.
    """

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return an object; None if it does not exist."""

    def read(self, api_version: str, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return an object of any kind; None if it does not exist. Raises `Unreadable`, `Refused`, `Unreachable`."""

    def is_stored(self, kind: str, namespace: str, name: str) -> bool:
        """Return whether an object exists that `get` may not return yet."""

    def pods(self, namespace: str, labels: Mapping[str, str]) -> Sequence[Manifest]:
        """Return the pods of a namespace that have all of the labels."""

    def create(self, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
        """Create an object and return it as stored; a dry run only checks whether this is allowed."""

    def merge(self, kind: str, namespace: str, name: str, patch: Manifest) -> Manifest:
        """Patch an object, and return it as stored."""


class Cluster(ObjectAccess, Protocol):
    """A cluster that is scheduled; the errors of `ObjectAccess` apply."""

    def objects(self, *kinds: str) -> Sequence[Manifest]:
        """Return the objects of some kinds."""

    def changes(self, consumer: object) -> Sequence[Change]:
        """Return the changes since the consumer's last call; all objects in its first call."""

    def merge_status(self, kind: str, namespace: str, name: str, status: Mapping[str, Any]) -> None:
        """Patch the status of an object, if it still exists."""

    def put(self, config_map: Manifest) -> Manifest:
        """Create a ConfigMap or merge into it, and return it as stored."""

    def delete(self, pod: Manifest) -> None:
        """Delete a pod immediately, if it still exists."""

    def bind(self, pod: Manifest, node: str) -> None:
        """Bind a pod to a node."""

    def evict(self, pod: Manifest, *, dry_run: bool = False) -> None:
        """Evict a pod within its disruption budgets and grace period; a dry run only checks whether this is allowed."""

    def explain_eviction(self, pod: Manifest, why: str) -> None:
        """Set the condition of an evicted pod."""

    def wait(self, pod: Manifest, why: str) -> None:
        """Set the condition of a pod that is unschedulable."""

    def record(self, about: Manifest, reason: str, message: str, *, is_warning: bool = False) -> None:
        """Record an event about an object."""


def key_of(manifest: Manifest) -> Key:
    """Return the namespace and the name of an object."""
    return manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]
