"""The result of a cycle: what was written, and the lines of its decisions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from apportion_runtime.kube.cluster import Manifest
from apportion_runtime.kube.gpu_reservation import ReservationFailure
from apportion_runtime.kube.log import Decision
from apportion_runtime.kube.metrics import QueueGpus
from apportion_runtime.snapshots.faults import Fault


@dataclass(slots=True)
class CycleResult:
    """The result of one cycle.

    Attributes:
        bound: Pods that were bound, as `namespace/name`.
        evicted: Pods that were evicted.
        waiting: Pods that are pending.
        grouped: Pods that were assigned to a pod group.
        refused: Writes that the API server rejected, each with the object and the message.
        unreserved: GPUs that could not be reserved for pods that share them.
        decisions: One line for each decision, for the log, with its fields.
        faults: Objects that changed and were read only in part.
        cluster_faults: All faults of cluster-wide objects, such as queues; the same tuple until such an object changes.
        latencies_s: The time from creation to binding of each bound pod, in seconds.
        actions: The action of each eviction.
        pending: The number of pending pods by kind of reason.
        queues: The GPUs of each queue.
        queued_jobs: The number of jobs in each queue of ACK; None if jobs are not released.
        n_released: The number of suspended jobs that were released.
        log_fault: Why the cycle could not be recorded for replay.
        next_cycle_s: The time in seconds from the cycle's time until another cycle may decide differently although nothing
            changes.
        next_attempt_s: The time in seconds from the end of the cycle until something that failed may be tried again.
    """

    bound: list[str] = field(default_factory=list)
    evicted: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    grouped: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    unreserved: list[ReservationFailure] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    faults: tuple[Fault, ...] = ()
    cluster_faults: tuple[Fault, ...] = ()
    latencies_s: list[float] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    pending: Counter[str] = field(default_factory=Counter)
    queues: tuple[QueueGpus, ...] = ()
    queued_jobs: Mapping[str, int] | None = None
    n_released: int = 0
    log_fault: str | None = None
    next_cycle_s: float = math.inf
    next_attempt_s: float = math.inf


def name_of(manifest: Manifest) -> str:
    """Return the name of an object with its namespace."""
    return f"{manifest['metadata']['namespace']}/{manifest['metadata']['name']}"
