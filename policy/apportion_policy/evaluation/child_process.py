"""The child process that evaluates a policy, as its parent holds it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChildProcess:
    """A running child process and the ends of its pipes that are ours."""

    process_id: int
    answer: int
    trace: int
    prints: int
    started_s: float
