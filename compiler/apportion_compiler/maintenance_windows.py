"""The time outside a maintenance window, for providers that only support times without disruption.

Such a time starts by a cron schedule and lasts for a duration, which can represent only daily windows and windows on
one day of the week.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from apportion_policy.pool import MaintenanceWindow

_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


@dataclass(frozen=True, slots=True)
class BlockedWindow:
    """A time without disruption: its start, as cron in UTC, and its duration in minutes."""

    schedule: str
    n_minutes: int


def closed_time(window: MaintenanceWindow) -> BlockedWindow | None:
    """Return the time outside a window; None if the window is neither daily nor on one day of the week."""
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
