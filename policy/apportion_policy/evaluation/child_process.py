"""The child process that evaluates a policy, from the parent's view."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChildProcess:
    """A running child process and the parent's ends of its pipes."""

    process_id: int
    answer: int
    trace: int
    prints: int
    started_s: float
