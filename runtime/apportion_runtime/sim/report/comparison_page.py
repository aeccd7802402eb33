"""The differences between two policies on one load, as an HTML page like that of a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from apportion_api.counted_nouns import counted
from apportion_runtime.sim.report.chart_geometry import filled, line, ticks
from apportion_runtime.sim.report.comparison import Change, ChangedItem, Comparison
from apportion_runtime.sim.report.comparison_labels import both, named
from apportion_runtime.sim.report.page import environment
from apportion_runtime.sim.report.steps import highest

_MOST_WORKLOADS = 500
_COLUMNS = (
    "gpu_hours", "fair_gpu_hours", "share", "wait_p50_s", "wait_p90_s", "wait_p99_s", "n_waiting", "n_evictions",
    "lost_gpu_hours",
)  # fmt: skip
_OF_WORKLOADS = ("queue", "started_s", "finished_s", "waited_s", "n_evictions", "lost_gpu_hours", "outcome")


def comparison_page(comparison: Comparison) -> str:
    """Return the page."""
    until = max(comparison.before.summary.duration_s, comparison.after.summary.duration_s)
    template = environment().get_template("comparison.html.j2")
    return template.render(
        title=f"{comparison.after.name}: differences",
        subtitle=f"{len(comparison.workloads):,} of {counted(comparison.after.summary.n_workloads, 'workload')} changed; "
        "before → after",
        tiles=[(change, named(change.field), both(change)) for change in comparison.cluster],
        is_empty=comparison.is_empty,
        columns=[(field, named(field)) for field in _COLUMNS],
        queues=[(changed, _cells(changed, _COLUMNS)) for changed in comparison.queues],
        charts=list(_charts(comparison, until)),
        ticks=ticks(until),
        workload_columns=[(field, named(field)) for field in _OF_WORKLOADS],
        workloads=[(changed, _cells(changed, _OF_WORKLOADS)) for changed in comparison.workloads[:_MOST_WORKLOADS]],
        n_workloads=len(comparison.workloads),
    )  # fmt: skip


def _cells(changed: ChangedItem, columns: tuple[str, ...]) -> list[tuple[Change | None, str]]:
    found = [changed.of(field) for field in columns]
    return [(change, "" if change is None else both(change)) for change in found]


@dataclass(frozen=True, slots=True)
class _Chart:
    queue: str
    top: float
    after: str
    edge: str
    before: str


def _charts(comparison: Comparison, until: float) -> Iterator[_Chart]:
    """Yield a chart of each queue in both reports whose GPU usage over time differs."""
    before = {series.queue: series.allocated for series in comparison.before.series}
    after = {series.queue: series.allocated for series in comparison.after.series}
    for name, held in after.items():
        earlier = before.get(name, ())
        top = max(highest(held), highest(earlier))
        if top and list(held) != list(earlier):
            yield _Chart(name, top, filled(held, until, top), line(held, until, top), line(earlier, until, top))
