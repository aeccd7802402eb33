"""The loops of koord-queue's queues, in the order of time."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_runtime.kube_queue.job_queue import JobQueue, WouldFailAgain, would_unit_fail_again
from apportion_runtime.kube_queue.queue_loop import SECOND, QueueLoop


class QueueLoops:
    """A loop for each queue; all start at the same time.

    Args:
        queues: The queues by name.
        start: The time at which the loops start, in seconds since 1970.
    """

    def __init__(self, queues: Mapping[str, JobQueue], start: float) -> None:
        self._by_queue = {
            name: QueueLoop(queue, rank, microseconds(start)) for rank, (name, queue) in enumerate(queues.items())
        }
        self.n_ended = 0
        """The number of jobs that have ended; a refusal does not count if it grew meanwhile."""

    def __getitem__(self, queue: str) -> QueueLoop:
        """Return the loop of a queue."""
        return self._by_queue[queue]

    def next_before(self, time: int) -> QueueLoop | None:
        """Return the loop that continues first, if that is before a time in microseconds."""
        loop = self._first()
        return loop if loop.due < time else None

    def next_unsettled(self, time: int) -> QueueLoop | None:
        """Return the loop that continues first, until all of them wait for a time after the given one."""
        loop = self._first()
        is_settled = loop.due > time and all(each.waits for each in self._by_queue.values())
        return None if is_settled else loop

    def _first(self) -> QueueLoop:
        return min(self._by_queue.values(), key=lambda loop: (loop.due, loop.rank))

    def skip(self, time: int, would_fail_again: WouldFailAgain) -> None:
        """Skip the passes until a time, in microseconds, if no job could be dequeued in them."""
        if not any(_may_dequeue(loop, would_fail_again) for loop in self._by_queue.values()):
            for loop in self._by_queue.values():
                loop.skip(time, self.n_ended)

    def wakes_at(self, would_fail_again: WouldFailAgain) -> float | None:
        """Return when the next loop continues that may dequeue a job, in seconds; None if there is none."""
        moments = (loop.due for loop in self._by_queue.values() if _may_dequeue(loop, would_fail_again))
        due = min(moments, default=None)
        return None if due is None else due / SECOND


def _may_dequeue(loop: QueueLoop, would_fail_again: WouldFailAgain) -> bool:
    return any(not would_unit_fail_again(unit, would_fail_again) for unit in loop.queue.units.values())


def microseconds(time: float) -> int:
    """Return a time as an integer."""
    return round(time * SECOND)
