"""The format of amounts and times, the same in every output format of a report."""

from __future__ import annotations

import math
from datetime import UTC, datetime

_HOUR, _DAY = 3600, 86_400


def lasting(seconds: float) -> str:
    """Return a duration in readable form: `45s`, `12m`, `3h 20m`, `2d 4h`."""
    for size, unit, smaller, small in ((_DAY, "d", _HOUR, "h"), (_HOUR, "h", 60, "m"), (60, "m", 1, "s")):
        if seconds >= size:
            rest = int(seconds % size // smaller)
            return f"{int(seconds // size)}{unit}" + (f" {rest}{small}" if rest else "")
    return f"{seconds:.0f}s"


def waited(seconds: float | None) -> str:
    """Return a wait; an empty string if there was none."""
    return "" if seconds is None else lasting(seconds)


def amount(value: float) -> str:
    """Return an amount with one decimal place."""
    return f"{value:,.1f}"


def devices(value: float) -> str:
    """Return GPUs with as many decimal places as needed, at most two."""
    return f"{round(value, 2):,.10g}"


def percent(share: float | None) -> str:
    """Return a percentage; empty if the whole is 0."""
    return "" if share is None else f"{share:.0%}"


def elapsed(seconds: float) -> str:
    """Return a time as elapsed time: `01:15:00`, `2d 01:15:00`."""
    whole = math.floor(seconds)
    days, rest = divmod(whole, _DAY)
    clock = f"{rest // _HOUR:02}:{rest % _HOUR // 60:02}:{rest % 60:02}"
    return f"{days}d {clock}" if days else clock


def moment(seconds: float) -> str:
    """Return a time in seconds since 1970, as `2026-01-05 08:00 UTC`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
