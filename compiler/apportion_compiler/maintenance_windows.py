"""The time outside of a maintenance window, for providers that can only say when nothing may be disturbed.

Such a time begins at a time of cron and lasts for a duration. That has an answer only for windows that come every day,
or on one day of every week.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from apportion_policy.pool import MaintenanceWindow

_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


@dataclass(frozen=True, slots=True)
class BlockedWindow:
    """When nothing may be disturbed: from when on, as cron in UTC, and for how many minutes."""

    schedule: str
    n_minutes: int


def closed_time(window: MaintenanceWindow) -> BlockedWindow | None:
    """Return the time outside of a window; None where it does not come every day or on one day of every week."""
    try:
        start, end = datetime.fromisoformat(window.start), datetime.fromisoformat(window.end)
    except ValueError:
        return None
    period = _period(window.recurrence, start)
    if period is None or not timedelta() < end - start < period or start.second or end.second:
        return None
    weekday = "*" if period == timedelta(days=1) else str(end.isoweekday() % 7)
    return BlockedWindow(f"{end.minute} {end.hour} * * {weekday}", int((period - (end - start)).total_seconds()) // 60)


def _period(recurrence: str, start: datetime) -> timedelta | None:
    if recurrence == "FREQ=DAILY":
        return timedelta(days=1)
    if recurrence in ("FREQ=WEEKLY", f"FREQ=WEEKLY;BYDAY={_DAYS[start.weekday()]}"):
        return timedelta(days=7)
    return None
