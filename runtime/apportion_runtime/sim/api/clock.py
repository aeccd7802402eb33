"""The virtual clock: seconds since the start of the simulation, and its start time."""

from __future__ import annotations

from dataclasses import dataclass

from apportion_runtime.snapshots.quantities import parse_time, time_text

DEFAULT_START = parse_time("2026-01-05T00:00:00Z")
"""A Monday, so that weekends fall where people expect them."""


@dataclass(slots=True)
class Clock:
    """The time of a simulation. `start` and `now` are seconds since 1970."""

    start: float = DEFAULT_START
    now: float = DEFAULT_START
    _text: tuple[float, str] = (-1.0, "")
    """The last time that was written, and its text."""

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return self.now - self.start

    def advance(self, to: float) -> None:
        """Move the clock forward. Raises `ValueError` for a time in the past."""
        if to < self.now:
            raise ValueError(f"the clock is at {self.now} and cannot go back to {to}")
        self.now = to

    @property
    def text(self) -> str:
        """The current time as Kubernetes objects store it, in whole seconds."""
        if self._text[0] != self.now:
            self._text = self.now, time_text(float(int(self.now)))
        return self._text[1]
