"""The schedule of a CronJob."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_ALIASES = {"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *"}
_UTC = ("UTC", "Etc/UTC")
"""Zones that need no time zone database."""
_LONGEST = timedelta(days=366)


def due_times(schedule: str, after: float, zone: str = "UTC") -> Iterator[float]:
    """Yield the times (seconds since 1970) at which a schedule is due in a time zone, starting at a given time.

    It ends if the schedule is not due within a year. Raises `ValueError` for an invalid schedule or zone.
    """
    try:
        local = UTC if zone in _UTC else ZoneInfo(zone)
    except (KeyError, ValueError):
        raise ValueError(f"`{zone}` is not a known time zone") from None
    fields = _ALIASES.get(schedule, schedule).split()
    if len(fields) != len(_RANGES):
        raise ValueError(f"`{schedule}` is not a cron schedule with five fields")
    minutes, hours, days, months, weekdays = (_values(f, *r) for f, r in zip(fields, _RANGES, strict=True))
    at = datetime.fromtimestamp(after, local).replace(second=0, microsecond=0)
    at += timedelta(minutes=1) if at.timestamp() < after else timedelta()
    last = at
    while at - last < _LONGEST:
        by_day, by_weekday = at.day in days, (at.weekday() + 1) % 7 in weekdays
        # If both are restricted, either may match, as in cron.
        is_day = by_day or by_weekday if fields[2] != "*" and fields[4] != "*" else by_day and by_weekday
        if at.month not in months or not is_day:
            at = (at + timedelta(days=1)).replace(hour=0, minute=0)
        elif at.hour not in hours:
            at = (at + timedelta(hours=1)).replace(minute=0)
        elif at.minute not in minutes:
            at += timedelta(minutes=1)
        else:
            last = at
            yield at.timestamp()
            at += timedelta(minutes=1)


def _values(field: str, least: int, most: int) -> frozenset[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        low, high = least, most
        if span != "*":
            first, dash, second = span.partition("-")
            low = int(first)
            high = int(second) if dash else most if step else low
        if not least <= low <= high <= (7 if most == 6 else most):
            raise ValueError(f"`{field}` is not in the range {least} to {most}")
        found.update(range(low, high + 1, int(step or 1)))
    return frozenset(value % 7 for value in found) if most == 6 else frozenset(found)
