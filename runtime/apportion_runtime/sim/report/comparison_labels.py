"""The text of a difference: the label of a field, and its two values."""

from __future__ import annotations

from apportion_runtime.sim.report import number_format
from apportion_runtime.sim.report.comparison import Change, Value

_NAMES = {
    "duration_s": "simulated", "n_workloads": "workloads", "gpu_hours": "GPU-hours", "capacity_gpu_hours": "available GPU-hours",
    "utilisation": "utilisation", "fragmentation": "fragmentation", "makespan_s": "makespan",
    "n_evictions": "evictions", "lost_gpu_hours": "GPU-hours lost", "fair_gpu_hours": "fair share",
    "share": "share used", "n_groups": "groups", "n_waiting": "still waiting", "wait_p50_s": "wait p50",
    "wait_p90_s": "wait p90", "wait_p99_s": "wait p99", "n_evicted_pods": "evicted pods", "parent": "parent",
    "started_s": "started", "finished_s": "ended", "outcome": "outcome", "waited_s": "waited", "queue": "queue",
}  # fmt: skip
_MOMENTS = ("started_s", "finished_s")
_PARTS = ("utilisation", "fragmentation", "share")
_COUNTS = ("n_workloads", "n_evictions", "n_groups", "n_waiting", "n_evicted_pods")
_NONE = "–"


def named(field: str) -> str:
    """Return the label of a field."""
    return _NAMES.get(field) or field.removeprefix("outcomes.")


def written(field: str, value: Value) -> str:
    """Return a field's value as text."""
    if value is None or isinstance(value, str):
        return value or _NONE
    if field in _MOMENTS:
        return number_format.elapsed(value)
    if field in _PARTS:
        return number_format.percent(value)
    if field in _COUNTS or field.startswith("outcomes."):
        return f"{value:,.0f}"
    return number_format.lasting(value) if field.endswith("_s") else number_format.amount(value)


def both(change: Change) -> str:
    """Return the two values, with all digits if they would otherwise look the same."""
    before, after = written(change.field, change.before), written(change.field, change.after)
    if before == after:
        before, after = f"{change.before:g}", f"{change.after:g}"
    return f"{before} → {after}"
