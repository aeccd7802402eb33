"""Durations: `"10m"`, `"1h30m"`, `"7d"`, or a `timedelta`; stored as whole seconds.

Source: the engines read Go durations (`time.ParseDuration`: h, m, s); days are accepted here and written as hours.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from apportion_policy.refused_values import kind_of_value

_PART = re.compile(r"(\d+)(d|h|m|s)")
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def parse_duration(value: object) -> int:
    """Return whole seconds.

    Raises:
        ValueError: If the text is not a duration, is negative, or is not a whole number of seconds.
    """
    if isinstance(value, timedelta):
        seconds, rest = divmod(value, timedelta(seconds=1))
        if rest or seconds < 0:
            raise ValueError(f"{value} is negative or not a whole number of seconds")
        return seconds
    if isinstance(value, bool) or (isinstance(value, int) and value < 0):
        raise ValueError(f'{value} is not a duration such as "10m" or "1h30m"')
    if isinstance(value, int):
        return value
    if not isinstance(value, str):
        raise ValueError(f'a duration must be a string such as "10m" or a timedelta, not {kind_of_value(value)}')
    text = value.strip()
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f'"{text}" is not a duration such as "10m", "1h30m" or "7d"')
    return sum(int(number) * _SECONDS[unit] for number, unit in parts)


def duration_text(seconds: int) -> str:
    """Return the Go form of whole seconds, largest units first: `1h30m`, `45s`, `0s`."""
    hours, rest = divmod(seconds, 3600)
    minutes, seconds_left = divmod(rest, 60)
    text = "".join(f"{n}{unit}" for n, unit in ((hours, "h"), (minutes, "m"), (seconds_left, "s")) if n)
    return text or "0s"


def _canonical(value: str | int | timedelta) -> str:
    return duration_text(parse_duration(value))


Duration = Annotated[
    str | timedelta,
    BeforeValidator(_canonical),
    WithJsonSchema({"type": "string", "pattern": r"^(\d+(d|h|m|s))+$", "examples": ["10m", "1h30m", "7d"]}),
]
"""Field type: accepts text and timedelta, holds the canonical Go text."""
