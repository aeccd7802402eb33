"""Kubernetes' notations for amounts, times and durations.

Quantities are exact: whole billionths, rounded up as Kubernetes rounds. Source: k8s.io/apimachinery/pkg/api/resource,
Go's time.ParseDuration.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

from apportion_api import durations, quantities

NANO = 10**9
_MILLI = 10**6
_MOST = 2**63 - 1
_DAY_S = 86_400.0
_MOST_DAYS = 2_900_000
"""The year 9909; later times are left to `datetime`."""

_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)


def parse_quantity(written: object) -> int:
    """Return a quantity in billionths. Raises `ValueError`, also above `int64` in decimal notation."""
    if not isinstance(written, str | int | float):
        raise ValueError(f"`{str(written)[:64]}` is not a quantity such as 500m, 2 or 16Gi")
    return _parsed_quantity(written)


@lru_cache(maxsize=65536, typed=True)
def _parsed_quantity(written: str | float) -> int:
    nanos = quantities.scaled_quantity(written, NANO)
    if abs(nanos) <= _MOST * NANO:
        return nanos
    if str(written).endswith("i"):  # ParseQuantity caps binary quantities only.
        return _MOST * NANO if nanos > 0 else -_MOST * NANO
    raise ValueError(f"`{written}` exceeds {_MOST}, the largest Kubernetes quantity")


def whole(nanos: int) -> int:
    """Return billionths as whole units, rounded up."""
    return _ceil(nanos, NANO)


def thousandths(nanos: int) -> int:
    """Return billionths as thousandths, rounded up."""
    return _ceil(nanos, _MILLI)


def _ceil(numerator: int, denominator: int) -> int:
    # Kubernetes rounds away from zero.
    return -(-numerator // denominator) if numerator >= 0 else numerator // denominator


@lru_cache(maxsize=65536)
def parse_time(text: str) -> float:
    """Return a timestamp (RFC 3339) as seconds since 1970. Raises `ValueError`."""
    try:
        made = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"`{text}` is not a time such as 2026-11-21T08:00:00Z") from None
    if made.tzinfo is None or "T" not in text:
        raise ValueError(f"`{text}` is not a time such as 2026-11-21T08:00:00Z")
    return made.timestamp()


@lru_cache(maxsize=1024)
def _date_text(day: int) -> str:
    return datetime.fromtimestamp(day * _DAY_S, UTC).date().isoformat()


def time_text(seconds: float) -> str:
    """Return seconds since 1970 as RFC 3339."""
    day, rest = divmod(seconds, _DAY_S)
    if rest.is_integer() and 0 <= day < _MOST_DAYS:
        minutes, second = divmod(int(rest), 60)
        return f"{_date_text(int(day))}T{minutes // 60:02}:{minutes % 60:02}:{second:02}Z"
    made = datetime.fromtimestamp(seconds, UTC)
    return made.isoformat(timespec="auto" if made.microsecond else "seconds").replace("+00:00", "Z")


def parse_duration(text: str) -> float:
    """Return a Go duration (`1h30m`, `-1s`, `0`) in seconds. Raises `ValueError`."""
    return float(durations.parse_duration(text))


def parse_integer(text: str) -> int:
    """Return a decimal whole number. Raises `ValueError`."""
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"`{text}` is not an integer")
    return int(text)
