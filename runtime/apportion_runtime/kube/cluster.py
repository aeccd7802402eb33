"""What the scheduler asks of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Manifest = Mapping[str, Any]


class Cluster(Protocol):
    """Objects to look at, and what may be done to them. A write that is refused raises `errors.Refused`."""

    def objects(self) -> Sequence[Manifest]:
        """Return everything that a snapshot is read from."""

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return an object; None if it does not exist."""

    def has_pods(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Tell whether any pod of a namespace has all of the labels."""

    def create(self, manifest: Manifest) -> Manifest:
        """Make an object, and return it as it is stored."""

    def merge(self, kind: str, namespace: str, name: str, patch: Manifest) -> Manifest:
        """Change fields of an object, and return it as it is stored."""

    def bind(self, pod: Manifest, node: str) -> None:
        """Give a pod its node."""

    def evict(self, pod: Manifest, why: str) -> None:
        """End a pod, and say why."""

    def wait(self, pod: Manifest, why: str) -> None:
        """Say at a pod why it waits."""
