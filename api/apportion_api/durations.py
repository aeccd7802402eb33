"""Durations of Go, which engines use: `90s`, `1h30m`. Source: `time.ParseDuration`."""

from __future__ import annotations

import re
from fractions import Fraction

_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_UNITS = {
    "ns": Fraction(1, 10**9), "us": Fraction(1, 10**6), "µs": Fraction(1, 10**6), "μs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000), "s": Fraction(1), "m": Fraction(60), "h": Fraction(3600),
}  # fmt: skip

_END = Fraction(2**63, 10**9)
"""The maximum: Go stores nanoseconds in a signed 64-bit integer."""


def parse_duration(text: str) -> Fraction:
    """Return the exact seconds of a duration, which may be negative. Raises `ValueError`."""
    rest = text[1:] if text[:1] in {"-", "+"} else text
    parts = _PART.findall(rest)
    seconds = sum((Fraction(number) * _UNITS[unit] for number, unit in parts), Fraction())
    is_whole = rest == "0" or (bool(parts) and "".join(number + unit for number, unit in parts) == rest)
    if not is_whole or seconds >= _END:
        raise ValueError(f'"{text[:64]}" is not a duration such as 90s or 1h30m')
    return -seconds if text.startswith("-") else seconds


def duration_text(seconds: Fraction) -> str:
    """Return a duration as Go writes it, to the nanosecond: `1m30s`. Source: `time.Duration.String`."""
    nanoseconds = abs(seconds.numerator) * 10**9 // seconds.denominator
    sign = "-" if seconds < 0 and nanoseconds else ""
    if not nanoseconds:
        return "0s"
    for unit, size in (("ns", 1), ("µs", 10**3), ("ms", 10**6)):
        if nanoseconds < size * 1000:
            return f"{sign}{_decimal(nanoseconds, size)}{unit}"
    minutes, rest = divmod(nanoseconds, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    larger = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{larger}{_decimal(rest, 10**9)}s"


def _decimal(number: int, unit: int) -> str:
    whole, rest = divmod(number, unit)
    digits = f"{rest:0{len(str(unit)) - 1}d}".rstrip("0") if rest else ""
    return f"{whole}.{digits}" if digits else str(whole)


def whole_seconds(text: str) -> tuple[int, bool]:
    """Return the seconds of a duration, rounded up, and whether they are exact.

    Raises:
        ValueError: If the text is not a duration, or is negative.
    """
    seconds = parse_duration(text)
    if seconds < 0:
        raise ValueError(f'"{text}" is negative; use a duration such as 90s or 1h30m')
    return -(-seconds.numerator // seconds.denominator), seconds.denominator == 1
