"""Moments as kube-queue writes them to jobs: Go's `time.Time.String`, with the reading of the process's own clock.

`2025-01-10 01:36:24.641181026 +0000 UTC m=+132100.596012828`: the reading counts from when kube-queue started, which here
is the beginning of the simulation.
"""

from __future__ import annotations

from datetime import UTC, datetime

_MICROS = 1_000_000


def stamp(start: float, elapsed_s: float) -> str:
    """Return a moment, `elapsed_s` after `start` (seconds since 1970)."""
    began, gone = round(start * _MICROS), round(elapsed_s * _MICROS)
    seconds, micros = divmod(began + gone, _MICROS)
    fraction = f".{micros:06}".rstrip("0").rstrip(".")
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}{fraction} +0000 UTC m=+{gone // _MICROS}.{gone % _MICROS:06}000"
