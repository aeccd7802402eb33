"""A cluster at one moment under one policy, with what engines read of its objects: fates and shares read it once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from apportion_api.fields import Manifest
from apportion_runtime.snapshots.kubernetes.read_objects import ReadObjects

if TYPE_CHECKING:
    from apportion_review.fates.kai_cluster import KaiCluster


@dataclass(frozen=True)
class ClusterState:
    """A cluster under one policy.

    Attributes:
        objects: All its objects.
        now: Time of the snapshot in seconds since the epoch; None for the newest time in it.
        known: Objects that were read, of this cluster or of the same one under another policy.
    """

    objects: Sequence[Manifest]
    now: float | None
    known: ReadObjects = field(default_factory=ReadObjects)

    @cached_property
    def kai(self) -> KaiCluster:
        """The cluster as KAI's schedulers read it. Raises `ValueError` if an object cannot be read."""
        # The scheduler core takes long to import, and the other engines do without.
        from apportion_review.fates.kai_cluster import kai_cluster

        return kai_cluster(self.objects, self.now, self.known)


def cluster_states(
    base: Sequence[Manifest], head: Sequence[Manifest], *, now: float | None
) -> tuple[ClusterState, ClusterState]:
    """Return a cluster under two policies; an object that both have is read once.

    Args:
        base: All objects of the cluster under the base's policy.
        head: The same under the head's.
        now: Time of the snapshot in seconds since the epoch; None for the newest time in it.
    """
    known = ReadObjects()
    return ClusterState(base, now, known), ClusterState(head, now, known)
