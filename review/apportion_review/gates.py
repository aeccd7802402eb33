"""Thresholds that a change must not exceed. What is unknown exceeds every threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from apportion_api.counted_nouns import counted
from apportion_review.diff_report import DiffReport
from apportion_review.fates.records import Fate, WorkloadFate
from apportion_review.review import ALL, Approval, ClusterReview, Gate
from apportion_review.unknown_clusters import clusters_text, unknown_clusters

_LOST = (Fate.EVICTED, Fate.ON_DEMAND)
_GPU_HOUR = 1000 * 3600


class FailOn(str, Enum):
    """The severity at which a review fails; each includes the previous ones."""

    DESTRUCTIVE = "destructive"
    LOSS = "loss"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The thresholds set by the user; None or False if unset.

    Attributes:
        max_evictions: Maximum number of running workloads that the change makes evictable.
        max_lost_gpu_s: Maximum work that they would lose, in thousandths of a GPU times seconds.
        fail_on: The severity at which the review fails.
        requires_approvals: Whether all required approvals must be given.
    """

    max_evictions: int | None = None
    max_lost_gpu_s: int | None = None
    fail_on: FailOn | None = None
    requires_approvals: bool = False


def lost_work(cluster: ClusterReview) -> tuple[WorkloadFate, ...]:
    """Return the running workloads of a cluster that the change evicts or makes evictable."""
    return tuple(row for row in cluster.worse if row.head.fate in _LOST)


def lost_gpu_s(cluster: ClusterReview) -> int | None:
    """Return the work that an eviction would lose on a cluster; None if a start time is unknown.

    In thousandths of a GPU times seconds since the start, assuming no checkpoints.
    """
    rows = lost_work(cluster)
    if not rows:
        return 0
    info = cluster.snapshot
    if info is None or info.taken is None:
        return None
    # Running workloads of the snapshot are assumed to run until the review.
    until = info.taken + (info.age_s or 0)
    total = 0
    for row in rows:
        if row.workload.started is None:
            return None
        total += sum(row.workload.gpus.values()) * max(0, int(until - row.workload.started))
    return total


def gpu_hours_text(amount: int) -> str:
    """Return thousandths of a GPU times seconds as GPU-hours with one decimal, rounded up."""
    tenths = -(-amount * 10 // _GPU_HOUR)
    return f"{tenths // 10}.{tenths % 10} GPU-hours"


def gates(
    thresholds: Thresholds, diff: DiffReport, clusters: Sequence[ClusterReview], approvals: Sequence[Approval]
) -> tuple[Gate, ...]:
    """Return the gates that are set, each with the measured value."""
    unknown = unknown_clusters(diff, clusters)
    found: list[Gate] = []
    if thresholds.max_evictions is not None:
        rows = [row for cluster in clusters for row in lost_work(cluster)]
        n_now = sum(row.head.fate is Fate.EVICTED for row in rows)
        text = f"{len(rows)} ({n_now} evicted now, {len(rows) - n_now} reclaimable on demand)" if rows else "0"
        found.append(
            Gate(
                "--max-evictions",
                str(thresholds.max_evictions),
                _with_unknown(text, unknown),
                len(rows) > thresholds.max_evictions or bool(unknown),
            )
        )
    if thresholds.max_lost_gpu_s is not None:
        lost = [lost_gpu_s(cluster) for cluster in clusters]
        total = sum(amount for amount in lost if amount is not None)
        text = gpu_hours_text(total) + (", plus those of workloads without a start time" if None in lost else "")
        found.append(
            Gate(
                "--max-lost-gpu-hours",
                gpu_hours_text(thresholds.max_lost_gpu_s),
                _with_unknown(text, unknown),
                None in lost or total > thresholds.max_lost_gpu_s or bool(unknown),
            )
        )
    if thresholds.fail_on is not None:
        found.append(_harm(thresholds.fail_on, diff, clusters, approvals, unknown))
    if thresholds.requires_approvals:
        missing = [approval.owner for approval in approvals if not approval.is_given]
        text = f"no approval from {', '.join(missing)}" if missing else "all owners have approved"
        found.append(Gate("--require-approvals", ALL, text, bool(missing)))
    return tuple(found)


def _with_unknown(text: str, unknown: Sequence[str]) -> str:
    return f"{text}; unknown on {clusters_text(unknown)}" if unknown else text


def _harm(
    fail_on: FailOn,
    diff: DiffReport,
    clusters: Sequence[ClusterReview],
    approvals: Sequence[Approval],
    unknown: Sequence[str],
) -> Gate:
    harm: list[str] = []
    n_worse = sum(row.head.fate is not Fate.UNKNOWN for cluster in clusters for row in cluster.worse)
    if n_worse:
        harm.append(f"{counted(n_worse, 'running workload')}")
    n_deleted = sum(len(target.deleted) for target in diff.objects or ())
    if n_deleted:
        harm.append(f"{counted(n_deleted, 'deleted object')}")
    if fail_on is not FailOn.DESTRUCTIVE and approvals:
        harm.append(f"{counted(len(approvals), 'owner')} affected")
    if fail_on is FailOn.UNKNOWN and unknown:
        harm.append(f"unknown effects on {clusters_text(unknown)}")
    if diff.objects is None:
        harm.append("objects not compared")
    return Gate("--fail-on", fail_on.value, ", ".join(harm) or "none", bool(harm))
