"""The loop of one koord-queue queue: the next job to try, and the time at which the queue continues.

Each queue tries its jobs one after another, ten milliseconds apart, until none is left, and waits. A new job and the end of
a job wake its own queue; other queues notice released quota when their timers end:

* `Priority`: after a minute, all jobs are tried in order, and again after each dequeued one.
* `Block`: a refused job blocks its quota. Every 30 seconds, the queue looks for a job of another quota; three minutes
  after its last attempt, or when a job of the quota arrives or ends, the quota is tried again. The same job is not tried
  twice within five seconds.

If a job of any queue ended since the loop began to look for the next one, its refusal does not count: the queue starts over.

Times are integer microseconds.

Source: koord-queue at 29043000, pkg/queue/queuepolicies/schedulingqueuev2/schedulingqueuev2.go (findNextQueueUnit, Next,
Reserve, AddUnschedulableIfNotPresent, AddQueueUnitInfo, Delete) and pkg/scheduler/scheduler.go (schedule, ErrorFunc).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from apportion_runtime.kube_queue.job_queue import JobQueue, Policy, Unit

SECOND = 1_000_000
_PAUSE = SECOND // 100
"""Between attempts (`scheduleSuspendTimeInMillSecond`, 10 by default)."""
_BLOCK_WAIT, _PRIORITY_WAIT = 30 * SECOND, 60 * SECOND
_BLOCKED_AT_MOST = 180 * SECOND
_THROTTLE = 5 * SECOND
_LONGEST_PASS = 180 * SECOND


@dataclass(slots=True)
class QueueLoop:
    """The loop of a queue.

    Attributes:
        queue: The jobs.
        rank: The order of loops that continue at the same time, which koord-queue leaves to chance.
        due: The time at which the loop continues.
        waits: Whether it waits for a timer or an event; otherwise, it pauses between attempts.
    """

    queue: JobQueue
    rank: int
    due: int
    waits: bool = True
    _blocked: set[str] = field(default_factory=set)
    _index: int = 0
    _starts_over: bool = False
    _started_at: int = 0
    _last_job: int = -1
    _last_at: int | None = None
    _order: list[Unit] | None = None
    _n_ended: int = 0
    """The number of ended jobs when the loop began to look for the next one."""

    @property
    def _is_block(self) -> bool:
        return self.queue.settings.policy is Policy.BLOCK

    def change(self) -> None:
        """Sort the jobs again; a changed priority does not wake the queue."""
        self._order = None

    def wake(self, now: int, quota: str, *, is_new: bool) -> None:
        """Handle a new job of a quota, or one that ended: all jobs are tried again."""
        self._starts_over = True
        self._order = None
        if is_new or self._is_block:
            self._blocked.discard(_name(quota))
        if self.waits:
            self.due = now

    def next(self, n_ended: int) -> Unit | None:
        """Return the job to try at the time at which the loop continues; None if it waits again.

        Args:
            n_ended: The number of jobs of all queues that have ended.
        """
        now = self.due
        if not self.waits:
            self._n_ended = n_ended
        unit = self._find(now)
        if unit is None and self._blocked and self._is_idle_for(now, _BLOCKED_AT_MOST):
            self._starts_over = True
            self._blocked.clear()
            unit = self._find(now)
        if unit is None:
            self._wait(now + (_BLOCK_WAIT if self._is_block else _PRIORITY_WAIT))
        elif self._is_block and unit.job == self._last_job and not self._is_idle_for(now, _THROTTLE - 1):
            self._wait(now + _THROTTLE)
            unit = None
        else:
            self._last_job, self._last_at = unit.job, now
        return unit

    def _is_idle_for(self, now: int, time: int) -> bool:
        """Return whether the last attempt is longer ago than a time."""
        return self._last_at is None or now - self._last_at > time

    def _wait(self, until: int) -> None:
        self._starts_over = True
        self.due, self.waits = until, True

    def _find(self, now: int) -> Unit | None:
        if self._starts_over or now - self._started_at > _LONGEST_PASS:
            self._index, self._starts_over, self._started_at = 0, False, now
        order = self._sorted()
        while self._index < len(order):
            unit = order[self._index]
            is_silent = unit.silent_until is not None and unit.silent_until * SECOND > now
            if not is_silent and _name(unit.quota) not in self._blocked:
                return unit
            self._index += 1
        return None

    def _sorted(self) -> Sequence[Unit]:
        if self._order is None:
            self._order = sorted(self.queue.units.values(), key=self.queue.rank)
        return self._order

    def refused(self, unit: Unit, n_ended: int) -> None:
        """Record that the job was refused, and pause."""
        if n_ended != self._n_ended:
            self._starts_over = True
        elif self._is_block:
            self._blocked.add(_name(unit.quota))
            self._starts_over = True
        else:
            self._index += 1
        self._pause()

    def dequeued(self, unit: Unit) -> None:
        """Record that the job was dequeued, which starts over with the first job, and pause."""
        if self._is_block:
            self._blocked.discard(_name(unit.quota))
        self._starts_over = True
        self._order = None
        self._pause()

    def _pause(self) -> None:
        self.due, self.waits = self.due + _PAUSE, False

    def skip(self, now: int, n_ended: int) -> None:
        """Skip passes until a time that try nothing, or only jobs that are refused again."""
        n_tried = len(self.queue.units)
        if not self.waits or (n_tried and (self._is_block or n_ended != self._n_ended)):
            return
        period = (_BLOCK_WAIT if self._is_block else _PRIORITY_WAIT) + n_tried * _PAUSE
        self.due += max(0, (now - self.due) // period) * period


def _name(quota: str) -> str:
    """Return the name of a quota: koord-queue blocks quotas by their name, not their path."""
    return quota.rpartition("/")[2]
