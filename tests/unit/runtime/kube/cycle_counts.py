"""The number of cycles of a running scheduler, from its metrics."""

from __future__ import annotations

from apportion_runtime.kube.http_server import Counters


def n_cycles(counters: Counters) -> int:
    """Return the number of completed cycles."""
    count = counters.metrics.registry.get_sample_value("apportion_scheduler_cycle_duration_seconds_count")
    return int(count or 0)
