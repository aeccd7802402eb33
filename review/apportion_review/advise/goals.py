"""Goals: bounds on the waits, evictions and lost work of a queue in a simulation."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import Enum

from apportion_policy.duration import duration_text, parse_duration
from apportion_runtime.sim.report.summary import QueueSummary, Summary

_GOAL = re.compile(
    r"(?P<measure>p50 wait|p90 wait|p99 wait|evictions|lost gpu-hours)(?:\s+of\s+(?P<queue>\S+))?"
    r"\s*(?:<=|≤|at most)\s*(?P<bound>\S.*)",
    re.IGNORECASE,
)
_UNIT = re.compile(r"\s*(d|h|m|s)(ays?|ours?|in|inutes?|econds?)?\b\s*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)


class Measure(str, Enum):
    """What a goal bounds, in the words of a goal."""

    WAIT_P50 = "p50 wait"
    WAIT_P90 = "p90 wait"
    WAIT_P99 = "p99 wait"
    EVICTIONS = "evictions"
    LOST = "lost GPU-hours"

    @property
    def is_wait(self) -> bool:
        """Whether it is in seconds."""
        return self in (Measure.WAIT_P50, Measure.WAIT_P90, Measure.WAIT_P99)


@dataclass(frozen=True, slots=True)
class Goal:
    """An upper bound.

    Attributes:
        measure: What is bounded.
        queue: Name of the queue, with its descendants; None for the whole cluster.
        bound: Seconds for waits, otherwise a number.
    """

    measure: Measure
    queue: str | None
    bound: float

    @property
    def subject(self) -> str:
        """Return `p90 wait of serving`."""
        return self.measure.value if self.queue is None else f"{self.measure.value} of {self.queue}"

    def amount_text(self, amount: float) -> str:
        """Return a value of its measure as text."""
        return duration_text(math.ceil(amount)) if self.measure.is_wait else f"{amount:g}"

    def excess(self, value: float) -> float:
        """Return by how much a value misses the goal, relative to the bound; 0 if it is met."""
        if value <= self.bound:
            return 0.0
        # A minute, an eviction or a GPU-hour is the scale of a bound of zero.
        return (value - self.bound) / max(self.bound, 60.0 if self.measure.is_wait else 1.0)


def parse_goal(text: str) -> Goal:
    """Return a goal such as `p90 wait of serving <= 5m`. Raises `ValueError`."""
    found = _GOAL.fullmatch(text.strip())
    if found is None:
        raise ValueError(
            f"`{text}` is not a goal such as `p90 wait of vision <= 5m`, `evictions of research <= 10` or `lost GPU-hours <= 20`"
        )
    measure = next(each for each in Measure if each.value.lower() == found["measure"].lower())
    written = found["bound"].strip()
    bound = _seconds(written) if measure.is_wait else _number(written)
    if bound is None:
        wanted = "a duration such as 30s, 5m or 8h" if measure.is_wait else "a number such as 10"
        raise ValueError(f"`{text}`: `{written}` is not {wanted}")
    return Goal(measure, found["queue"], bound)


def _seconds(text: str) -> float | None:
    try:
        return float(parse_duration("0s" if text == "0" else _UNIT.sub(r"\1", text.lower())))
    except ValueError:
        return None


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def value_of(goal: Goal, summary: Summary) -> float:
    """Return the value that a goal bounds; 0 if nothing waited. Raises `KeyError` if its queue does not exist."""
    if goal.queue is not None:
        queue = next((each for each in summary.queues if each.name == goal.queue), None)
        if queue is None:
            raise KeyError(goal.queue)
        return _of_queue(goal.measure, queue)
    roots = [each for each in summary.queues if each.parent is None]
    match goal.measure:
        case Measure.EVICTIONS:
            return float(summary.n_evictions)
        case Measure.LOST:
            return summary.lost_gpu_hours
        case _:
            # Without a queue, the goal holds for each top-level queue.
            return max((_of_queue(goal.measure, each) for each in roots), default=0.0)


def _of_queue(measure: Measure, queue: QueueSummary) -> float:
    match measure:
        case Measure.WAIT_P50:
            return queue.wait_p50_s or 0.0
        case Measure.WAIT_P90:
            return queue.wait_p90_s or 0.0
        case Measure.WAIT_P99:
            return queue.wait_p99_s or 0.0
        case Measure.EVICTIONS:
            return float(queue.n_evictions)
        case Measure.LOST:
            return queue.lost_gpu_hours
