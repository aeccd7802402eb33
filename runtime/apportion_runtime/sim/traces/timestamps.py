"""Timestamps of traces as seconds since 1970, and their conversion to seconds since the first arrival."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from apportion_runtime.sim.traces.records import TraceJob, in_order
from apportion_runtime.sim.traces.rows import BadRow

NO_TIME = frozenset({"", "unknown", "none", "n/a", "null", "(null)"})
"""What lists print for a missing time, in lower case."""


def parse_timestamp(text: str) -> float:
    """Return an ISO 8601 date and time; without a time zone, it is UTC. Raises `ValueError`."""
    made = datetime.fromisoformat(text)
    return (made if made.tzinfo is not None else made.replace(tzinfo=UTC)).timestamp()


def timestamp_of(field: str, text: str) -> float | None:
    """Return a timestamp; None if it is missing. Raises `BadRow`."""
    if text.strip().lower() in NO_TIME:
        return None
    try:
        return parse_timestamp(text.strip())
    except ValueError:
        raise BadRow(f"{field} `{text}` is not a time such as 2026-11-21 08:00:00", f"correct {field}") from None


def since_first_arrival(jobs: Sequence[TraceJob]) -> tuple[tuple[TraceJob, ...], float | None]:
    """Return jobs that arrive at seconds since 1970 in order of arrival, from the first one, and its time."""
    begin = min((job.arrives_s for job in jobs), default=None)
    if begin is None:
        return (), None
    return in_order([replace(job, arrives_s=job.arrives_s - begin) for job in jobs]), begin
