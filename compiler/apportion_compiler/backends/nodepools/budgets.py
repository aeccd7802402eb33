"""A maintenance window as Karpenter's disruption budgets: outside of it nothing is disturbed.

A budget holds from a time of cron for a duration, and the strictest of those that hold counts. So the time outside of
the window is a budget of no nodes, from the window's end until its next start. That has an answer only for windows that
come every day, or on one day of every week: `is_expressible`.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from apportion_policy.pool import Maintenance, MaintenanceWindow

_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_DEFAULT_BUDGET = {"nodes": "10%"}
"""Karpenter's own where no budget is given; any that is given takes its place."""


def disruption_budgets(maintenance: Maintenance | None) -> list[dict[str, object]]:
    """Return the budgets of a window; none where there is no window, or none that Karpenter can hold to.

    Nodes that stand empty are removed at any time: that disturbs nobody.
    """
    window = None if maintenance is None else maintenance.window
    closed = None if window is None else _closed(window)
    if closed is None:
        return []
    schedule, duration = closed
    barred: dict[str, object] = {
        "nodes": "0",
        "reasons": ["Underutilized", "Drifted"],
        "schedule": schedule,
        "duration": duration,
    }
    return [dict(_DEFAULT_BUDGET), barred]


def is_expressible(window: MaintenanceWindow) -> bool:
    """Tell whether Karpenter can hold to a window."""
    return _closed(window) is not None


def _closed(window: MaintenanceWindow) -> tuple[str, str] | None:
    """Return the time outside of a window: when it begins, as cron in UTC, and how long it is."""
    try:
        start, end = datetime.fromisoformat(window.start), datetime.fromisoformat(window.end)
    except ValueError:
        return None
    period = _period(window.recurrence, start)
    if period is None or not timedelta() < end - start < period or start.second or end.second:
        return None
    minutes = int((period - (end - start)).total_seconds()) // 60
    weekday = "*" if period == timedelta(days=1) else str(end.isoweekday() % 7)
    return f"{end.minute} {end.hour} * * {weekday}", _duration(minutes)


def _period(recurrence: str, start: datetime) -> timedelta | None:
    if recurrence == "FREQ=DAILY":
        return timedelta(days=1)
    if recurrence in ("FREQ=WEEKLY", f"FREQ=WEEKLY;BYDAY={_DAYS[start.weekday()]}"):
        return timedelta(days=7)
    return None


def _duration(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    return f"{hours}h{rest}m" if hours and rest else f"{hours}h" if hours else f"{rest}m"
