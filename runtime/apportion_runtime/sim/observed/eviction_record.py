"""The record of an eviction that a simulation finds for the pending work of a snapshot."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Eviction:
    """An evicted pod.

    Attributes:
        pod: Its uid in the snapshot; its namespace and name if it was exported without a uid.
        action: `preempt` or `reclaim`.
        by: Namespace and name of the beneficiary workload.
        queue: The queue of the beneficiary.
    """

    pod: str
    action: str
    by: str
    queue: str
