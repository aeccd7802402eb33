"""The same load under two policies, as rows of a review."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from apportion_review.review import LoadComparison, QueueLoad, Wait
from apportion_runtime.sim.report.report import Report, WorkloadReport
from apportion_runtime.sim.report.summary import percentile, upwards

_GPU_HOUR = 3_600_000
_ASSUMPTION = (
    "The simulation assumes that nodes do not change and jobs run for the duration given in the load; an evicted job restarts from the beginning unless the "
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
    former = {renamed.get(name, name): queue for name, queue in _queues(before).items()}
    changed = _queues(after)
    rows = [_row(name, former.get(name), changed.get(name)) for name in dict.fromkeys((*changed, *former))]
    differing = [row for row in rows if _differs(row)]
    cluster = _row("", _cluster(before), _cluster(after))
    return LoadComparison(load, digest, _ASSUMPTION, (cluster, *differing), len(rows) - len(differing))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A queue, or the cluster, in one simulation; waits in seconds, those of groups that have not started separately."""

    finished_waits: tuple[float, ...]
    unfinished_waits: tuple[float, ...]
    n_evictions: int
    lost_gpu_s: int

    def wait(self, percent: int) -> Wait | None:
        """Return a percentile of the waits; None without waits."""
        seconds = percentile(sorted((*self.finished_waits, *self.unfinished_waits)), percent)
        longest = percentile(sorted((*self.finished_waits, *(math.inf for _ in self.unfinished_waits))), percent)
        return None if seconds is None else Wait(seconds, is_lower_bound=longest != seconds)


_NOTHING = _Outcome((), (), 0, 0)


def _row(name: str, before: _Outcome | None, after: _Outcome | None) -> QueueLoad:
    first, second = before or _NOTHING, after or _NOTHING
    return QueueLoad(
        name,
        (first.wait(50), second.wait(50)),
        (first.wait(90), second.wait(90)),
        (len(first.unfinished_waits), len(second.unfinished_waits)),
        (first.n_evictions, second.n_evictions),
        (first.lost_gpu_s, second.lost_gpu_s),
    )


def _differs(row: QueueLoad) -> bool:
    ends = (row.wait_p50, row.wait_p90, row.n_not_started, row.evictions, row.lost_gpu_s)
    return any(first != second for first, second in ends)


def _cluster(report: Report) -> _Outcome:
    roots = {queue.name for queue in report.summary.queues if queue.parent is None}
    waits = _waits(report, report.workloads, roots)
    return _Outcome(*waits, report.summary.n_evictions, _gpu_seconds(report.summary.lost_gpu_hours))


def _queues(report: Report) -> dict[str, _Outcome]:
    parents = {queue.name: queue.parent for queue in report.summary.queues}
    workloads: dict[str, list[WorkloadReport]] = {name: [] for name in parents}
    for workload in report.workloads:
        for name in upwards(workload.queue, parents):
            workloads[name].append(workload)
    return {
        queue.name: _Outcome(
            *_waits(report, workloads[queue.name], {queue.name}), queue.n_evictions, _gpu_seconds(queue.lost_gpu_hours)
        )
        for queue in report.summary.queues
    }


def _waits(
    report: Report, workloads: Iterable[WorkloadReport], queues: Container[str]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the waits of groups that started, and of groups that wait at the end of the simulation."""
    end = report.summary.duration_s
    waits = [wait for workload in workloads for wait in workload.waits]
    unfinished = tuple(end - since for since, until in waits if until is None)
    # Workloads do not list finished waits of zero length, which the first bucket of the distribution, 0 s, counts.
    n_immediate = sum(found.counts[0] for found in report.waits if found.queue in queues) - unfinished.count(0.0)
    finished = (until - since for since, until in waits if until is not None)
    return (*(0.0 for _ in range(n_immediate)), *finished), unfinished


def _gpu_seconds(gpu_hours: float) -> int:
    return round(gpu_hours * _GPU_HOUR)
