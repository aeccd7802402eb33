"""The state of a cluster under one policy, with objects parsed once for fates and shares."""

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
        known: Cache of parsed objects, also those of the cluster under another policy.
    """

    objects: Sequence[Manifest]
    now: float | None
    known: ReadObjects = field(default_factory=ReadObjects)

    @cached_property
    def kai(self) -> KaiCluster:
        """The cluster as KAI's schedulers see it. Raises `ValueError` if an object cannot be parsed."""
        # Imported here, because the scheduler core takes long to import, and other engines do not need it.
        from apportion_review.fates.kai_cluster import kai_cluster

        return kai_cluster(self.objects, self.now, self.known)


def cluster_states(
    base: Sequence[Manifest], head: Sequence[Manifest], *, now: float | None
) -> tuple[ClusterState, ClusterState]:
    """Return a cluster under two policies; common objects are parsed once.

    Args:
        base: All objects of the cluster under the base policy.
        head: All objects under the head policy.
        now: Time of the snapshot in seconds since the epoch; None for the newest time in it.
    """
    known = ReadObjects()
    return ClusterState(base, now, known), ClusterState(head, now, known)
