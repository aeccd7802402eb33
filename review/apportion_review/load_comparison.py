"""The same load under two policies, as rows of a review."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_review.review import LoadComparison, QueueLoad
from apportion_runtime.sim.report.report import Report
from apportion_runtime.sim.report.summary import QueueSummary, percentile

_GPU_HOUR = 3_600_000
_ASSUMPTION = (
    "The simulation assumes that nodes do not change and jobs run for the duration in the load; an evicted job restarts from the beginning unless the "
    "load specifies checkpoints."
)


def load_comparison(
    load: str, digest: str, before: Report, after: Report, renamed: Mapping[str, str]
) -> LoadComparison:
    """Compare two simulations of one load.

    Args:
        load: Name of the scenario or trace.
        digest: Digest of its content, `sha256:…`.
        before: The simulation of the base.
        after: The simulation of the head.
        renamed: Queue names in the head by their names in the base.
    """
    former = {renamed.get(queue.name, queue.name): queue for queue in before.summary.queues}
    changed = {queue.name: queue for queue in after.summary.queues}
    rows = [_row(name, former.get(name), changed.get(name)) for name in dict.fromkeys((*changed, *former))]
    differing = [row for row in rows if _differs(row)]
    return LoadComparison(load, digest, _ASSUMPTION, (_cluster(before, after), *differing), len(rows) - len(differing))


def _row(name: str, before: QueueSummary | None, after: QueueSummary | None) -> QueueLoad:
    return QueueLoad(
        name,
        (None if before is None else before.wait_p50_s, None if after is None else after.wait_p50_s),
        (None if before is None else before.wait_p90_s, None if after is None else after.wait_p90_s),
        (0 if before is None else before.n_evictions, 0 if after is None else after.n_evictions),
        (_lost(before), _lost(after)),
    )


def _lost(queue: QueueSummary | None) -> int:
    return 0 if queue is None else round(queue.lost_gpu_hours * _GPU_HOUR)


def _differs(row: QueueLoad) -> bool:
    return any(first != second for first, second in (row.wait_p50, row.wait_p90, row.evictions, row.lost_gpu_s))


def _cluster(before: Report, after: Report) -> QueueLoad:
    waits = [_waits(report) for report in (before, after)]
    sums = before.summary, after.summary
    return QueueLoad(
        "",
        (percentile(waits[0], 50), percentile(waits[1], 50)),
        (percentile(waits[0], 90), percentile(waits[1], 90)),
        (sums[0].n_evictions, sums[1].n_evictions),
        (round(sums[0].lost_gpu_hours * _GPU_HOUR), round(sums[1].lost_gpu_hours * _GPU_HOUR)),
    )


def _waits(report: Report) -> list[float]:
    """Return the times for which workloads were pending before each run, or until the end of the simulation."""
    ends = report.summary.duration_s
    roots = {queue.name for queue in report.summary.queues if queue.parent is None}
    # Workloads do not list waits of zero length, which the first bucket of the distribution, 0 s, counts.
    n_immediate = sum(waits.counts[0] for waits in report.waits if waits.queue in roots)
    lasting = [(ends if until is None else until) - since for work in report.workloads for since, until in work.waits]
    return sorted([0.0] * n_immediate + lasting)
