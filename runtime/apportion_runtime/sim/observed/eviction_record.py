"""The record of an eviction that a simulation finds for the work that waits in a snapshot."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Eviction:
    """A pod that leaves.

    Attributes:
        pod: Its uid in the snapshot; namespace and name of one that was exported without.
        action: `preempt` or `reclaim`.
        by: Namespace and name of the workload that takes its place.
        queue: The queue of that.
    """

    pod: str
    action: str
    by: str
    queue: str
