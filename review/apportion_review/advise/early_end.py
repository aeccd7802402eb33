"""The early end of a simulation whose goals can no longer be met.

The number of waits at the end is not known before: it is estimated from the simulation of the policy as it is, with a
margin for evicted work, which waits again. A simulation that meets its goals is never ended by this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from apportion_review.advise.goals import Goal, Measure
from apportion_runtime.sim.history import History
from apportion_runtime.sim.report.summary import Summary, upwards

_PERCENT = {Measure.WAIT_P50: 50, Measure.WAIT_P90: 90, Measure.WAIT_P99: 99}
_MARGIN = 1.25
"""Waits of a run beyond those under the policy as it is."""


@dataclass(frozen=True, slots=True)
class WaitLimit:
    """The number of waits beyond the bound of a goal with which it is missed."""

    goal: Goal
    n_most: int


def wait_limits(goals: Sequence[Goal], baseline: Summary, interval: int = 1) -> tuple[WaitLimit | None, ...]:
    """Return for each goal how many waits may exceed its bound; None for goals that are not waits of one queue.

    Args:
        goals: The goals.
        baseline: The simulation of the policy as it is.
        interval: One of how many jobs are simulated.
    """
    n_groups = {each.name: each.n_groups for each in baseline.queues}
    return tuple(
        None
        if goal.queue is None or goal.measure not in _PERCENT
        else WaitLimit(goal, _most(math.ceil(_MARGIN * n_groups[goal.queue] / interval), _PERCENT[goal.measure]))
        for goal in goals
    )


def _most(n_waits: int, percent: int) -> int:
    return n_waits - math.ceil(n_waits * percent / 100)


@dataclass(slots=True)
class GoalMonitor:
    """Counts the waits of a running simulation.

    Attributes:
        limits: For each goal, from `wait_limits`.
    """

    limits: Sequence[WaitLimit | None]
    _n_read: int = 0
    _n_long: dict[int, int] = field(default_factory=dict)
    _unplaced: list[tuple[str, float]] = field(default_factory=list)
    """Pod groups that are gone without having run: they wait until the end."""

    def missed(self, history: History, now_s: float) -> tuple[int, ...]:
        """Return the goals that are missed whatever happens later."""
        new = history.waits[self._n_read :]
        self._n_read = len(history.waits)
        self._unplaced += [(wait.queue, wait.since_s) for wait in new if wait.until_s is None]
        lasted = [(wait.queue, wait.until_s - wait.since_s) for wait in new if wait.until_s is not None]
        open_waits = [(queue, now_s - since_s) for queue, since_s in (*history.open_waits(), *self._unplaced)]
        found: list[int] = []
        for number, limit in enumerate(self.limits):
            if limit is None:
                continue
            queue, bound = limit.goal.queue, limit.goal.bound
            below = {name for name in history.parents if queue in upwards(name, history.parents)}
            n_long = self._n_long.get(number, 0) + sum(wait_s > bound and name in below for name, wait_s in lasted)
            self._n_long[number] = n_long
            if n_long + sum(wait_s > bound and name in below for name, wait_s in open_waits) > limit.n_most:
                found.append(number)
        return tuple(found)
