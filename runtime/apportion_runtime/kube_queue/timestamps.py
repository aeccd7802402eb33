"""Timestamps as kube-queue writes them to jobs: Go's `time.Time.String`, with the monotonic clock reading.

`2025-01-10 01:36:24.641181026 +0000 UTC m=+132100.596012828`: the reading counts from the start of kube-queue, which
is the start of the simulation, or of the live scheduler. Those that kube-queue wrote have its time zone.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

_MICROS = 1_000_000
_STAMP = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?P<fraction>\.\d{1,9})? (?P<offset>[+-]\d{4}) \S+( |$)", re.ASCII
)


def stamp(start: float, elapsed_s: float) -> str:
    """Return the timestamp `elapsed_s` after `start` (seconds since 1970)."""
    began, gone = round(start * _MICROS), round(elapsed_s * _MICROS)
    seconds, micros = divmod(began + gone, _MICROS)
    fraction = f".{micros:06}".rstrip("0").rstrip(".")
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}{fraction} +0000 UTC m=+{gone // _MICROS}.{gone % _MICROS:06}000"


def moment(text: str) -> float | None:
    """Return the time of a timestamp in seconds since 1970; None if it cannot be read."""
    read = _STAMP.match(text)
    if read is None:
        return None
    try:
        seconds = datetime.strptime(f"{read['at']} {read['offset']}", "%Y-%m-%d %H:%M:%S %z").timestamp()
    except ValueError:
        return None
    return seconds + float(f"0{read['fraction'] or '.0'}")
