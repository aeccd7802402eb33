"""Timestamps as kube-queue writes them to jobs: Go's `time.Time.String`, with the monotonic clock reading.

`2025-01-10 01:36:24.641181026 +0000 UTC m=+132100.596012828`: the reading counts from the start of kube-queue, which
is the start of the simulation.
"""

from __future__ import annotations

from datetime import UTC, datetime

_MICROS = 1_000_000


def stamp(start: float, elapsed_s: float) -> str:
    """Return the timestamp `elapsed_s` after `start` (seconds since 1970)."""
    began, gone = round(start * _MICROS), round(elapsed_s * _MICROS)
    seconds, micros = divmod(began + gone, _MICROS)
    fraction = f".{micros:06}".rstrip("0").rstrip(".")
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}{fraction} +0000 UTC m=+{gone // _MICROS}.{gone % _MICROS:06}000"
