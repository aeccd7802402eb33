"""The virtual clock: seconds since the simulation began, and the moment that stands for its beginning."""

from __future__ import annotations

from dataclasses import dataclass

from apportion_runtime.snapshots.quantities import parse_time, time_text

DEFAULT_START = parse_time("2026-01-05T00:00:00Z")
"""A Monday, so that week ends fall where people expect them."""


@dataclass(slots=True)
class Clock:
    """The time of a simulation. `start` and `now` are seconds since 1970."""

    start: float = DEFAULT_START
    now: float = DEFAULT_START

    @property
    def elapsed_s(self) -> float:
        """Seconds since the beginning."""
        return self.now - self.start

    def advance(self, to: float) -> None:
        """Jump forward. Raises `ValueError` for a moment that is past."""
        if to < self.now:
            raise ValueError(f"the clock is at {self.now} and cannot go back to {to}")
        self.now = to

    @property
    def text(self) -> str:
        """The moment as objects write it: whole seconds, as in Kubernetes."""
        return time_text(float(int(self.now)))
