"""The report of a simulation for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from apportion_api.counted_nouns import counted
from apportion_runtime.sim.report.number_format import amount, lasting, percent, waited
from apportion_runtime.sim.report.tree import in_tree

if TYPE_CHECKING:
    from apportion_runtime.sim.report.comparison import ChangedItem, Comparison
    from apportion_runtime.sim.report.report import Report
    from apportion_runtime.sim.report.summary import ModelSummary, QueueSummary

_MOST_WORKLOADS = 20
_WIDTH = 80
_HEADER = ("queue", "GPU-hours", "fair share", "used", "wait p50", "p90", "p99", "waiting", "evicted", "lost GPU-h")


def report_text(report: Report) -> str:
    """Return the cluster's results, and a line for each queue."""
    found = report.summary
    ended = ", ".join(f"{count:,} {outcome}" for outcome, count in found.outcomes.items())
    unusable = "" if found.fragmentation is None else f", fragmentation {percent(found.fragmentation)}"
    used = f"{amount(found.gpu_hours)} of {amount(found.capacity_gpu_hours)} ({percent(found.utilisation)})"
    lost = f"{counted(found.n_evictions, 'eviction')}, {amount(found.lost_gpu_hours)} GPU-hours lost"
    lines = [
        f"{report.name}: {lasting(found.duration_s)}, {counted(found.n_workloads, 'workload')} ({ended})",
        f"GPU-hours {used}{unusable}",
        *_model_lines(found.models),
        f"makespan {lasting(found.makespan_s)}, {lost}",
        "",
    ]
    rows = [_HEADER, *(_row(queue, depth) for queue, depth in in_tree(found.queues))]
    return "\n".join([*lines, *table(rows)]) + "\n"


def _model_lines(models: Sequence[ModelSummary]) -> list[str]:
    """Return a line about GPU models if there are several."""
    if len(models) < 2:
        return []
    texts = (
        f"{found.model or 'unknown model'} {amount(found.gpu_hours)} of {amount(found.capacity_gpu_hours)} "
        f"({percent(found.utilisation)})"
        for found in models
    )
    return wrap(f"by GPU model: {', '.join(texts)}", _WIDTH, subsequent_indent="  ")


def comparison_text(comparison: Comparison) -> str:
    """Return the differences of the cluster, of each queue, and of the workloads with the largest change in end time."""
    from apportion_runtime.sim.report.comparison_labels import both, named

    name = comparison.after.name
    if comparison.is_empty:
        return f"{name}: no differences\n"
    lines = [f"{name}: before → after"]
    lines += [f"{named(change.field)} {both(change)}" for change in comparison.cluster]
    for changed in comparison.queues:
        text = ", ".join(f"{named(change.field)} {both(change)}" for change in changed.changes)
        lines += ["", f"queue {changed.name}", f"  {text}"]
    if comparison.workloads:
        all_of_them = counted(len(comparison.workloads), "workload")
        shown = sorted(comparison.workloads, key=_moved, reverse=True)[:_MOST_WORKLOADS]
        most = (
            f"; the {len(shown)} with the largest change in end time:" if len(shown) < len(comparison.workloads) else ""
        )
        lines += ["", f"{all_of_them} changed{most}"]
        for changed in shown:
            text = ", ".join(f"{named(change.field)} {both(change)}" for change in changed.changes)
            lines.append(f"  {changed.name}: {text}")
    return "\n".join(lines) + "\n"


def _moved(changed: ChangedItem) -> float:
    """Return the change of a workload's end time in seconds; infinite if it ended in only one of the two."""
    change = changed.of("finished_s")
    if change is None:
        return 0.0
    if isinstance(change.before, float) and isinstance(change.after, float):
        return abs(change.after - change.before)
    return float("inf")


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines, with the first column left-aligned and the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *rest in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return lines


def _row(queue: QueueSummary, depth: int) -> tuple[str, ...]:
    return (
        "  " * depth + queue.name,
        amount(queue.gpu_hours),
        amount(queue.fair_gpu_hours),
        percent(queue.share),
        waited(queue.wait_p50_s),
        waited(queue.wait_p90_s),
        waited(queue.wait_p99_s),
        str(queue.n_waiting or ""),
        str(queue.n_evictions or ""),
        amount(queue.lost_gpu_hours) if queue.lost_gpu_hours else "",
    )
