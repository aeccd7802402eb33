"""The results of a simulated load as text, before and after the change."""

from __future__ import annotations

from apportion_review.review import Wait
from apportion_runtime.sim.report.number_format import lasting


def waits_text(ends: tuple[Wait | None, Wait | None]) -> str:
    """Return a wait before and after: `12m → ≥ 7h`, with `none` if no pod group waited."""
    return " → ".join(_wait_text(wait) for wait in ends)


def counts_text(ends: tuple[int, int]) -> str:
    """Return a number before and after: `0 → 2`."""
    return f"{ends[0]:,} → {ends[1]:,}"


def _wait_text(wait: Wait | None) -> str:
    if wait is None:
        return "none"
    return f"{'≥ ' if wait.is_lower_bound else ''}{lasting(wait.seconds)}"
