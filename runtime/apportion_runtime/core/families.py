"""The jobs of one queue: which of them wait, and which run and may be evicted, kept until one of them changes.

What is done about all jobs of a session is done about those that are of interest: no turn looks at every job.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple

from apportion_runtime.core.job import Job
from apportion_runtime.core.resources import NO_QUANTITIES, Quantities

_NUMBER = attrgetter("number")


class Members(NamedTuple):
    """Some jobs of a queue.

    Attributes:
        queue: Its name.
        jobs: In the session's order.
        ordered: The same, the next to be taken last.
        are_alike: Whether they count the same in the order of queues.
        counted: What each counts for there where they are alike: what it asks for next, or as a victim what it holds.
    """

    queue: str
    jobs: list[Job]
    ordered: list[Job]
    are_alike: bool
    counted: Quantities = NO_QUANTITIES


class Interest:
    """The jobs of a session that something may have to be done about, by id.

    Attributes:
        changed: Those that changed since the cycle began.
        pending: Those with pods that wait.
        unsettled: Those that changed since stale gangs were looked for, and those that were stale then.
        stirred: Those that came, changed or left since `prospects` looked at them.
    """

    __slots__ = ("changed", "pending", "stirred", "unsettled")

    def __init__(self) -> None:
        self.changed: dict[str, Job] = {}
        self.pending: dict[str, Job] = {}
        self.unsettled: dict[str, Job] = {}
        self.stirred: dict[str, None] = {}

    def note(self, job: Job) -> None:
        """A job came or changed."""
        self.changed[job.uid] = self.unsettled[job.uid] = job
        self.stirred[job.uid] = None
        if job.n_pending:
            self.pending[job.uid] = job
        else:
            self.pending.pop(job.uid, None)

    def drop(self, uid: str) -> None:
        """A job is gone."""
        self.changed.pop(uid, None)
        self.pending.pop(uid, None)
        self.unsettled.pop(uid, None)
        self.stirred[uid] = None


def in_order(jobs: Iterable[Job]) -> list[Job]:
    """Return jobs in the session's order."""
    return sorted(jobs, key=_NUMBER)


class Family:
    """All jobs of a queue."""

    __slots__ = ("_interest", "_plugins", "_running", "_waiting", "jobs", "pending", "queue")

    def __init__(self, queue: str, plugins: frozenset[str], interest: Interest) -> None:
        self.queue = queue
        self.jobs: dict[str, Job] = {}
        self.pending: dict[str, Job] = {}
        self._plugins = plugins
        self._interest = interest
        self._waiting: Members | None = None
        self._running: Members | None = None

    def put(self, job: Job) -> None:
        """Take in a job, which will tell when it changes, at the end or in the place of what it was."""
        before = self.jobs.get(job.uid)
        if before is not None:
            before.family = None
        self.jobs[job.uid] = job
        job.family = self
        self.changed(job)

    def remove(self, job: Job) -> None:
        """Let go of a job."""
        del self.jobs[job.uid]
        self.pending.pop(job.uid, None)
        job.family = None
        self._interest.drop(job.uid)
        self._waiting = self._running = None

    def changed(self, job: Job) -> None:
        """Forget what was kept: a job changed."""
        self._interest.note(job)
        if job.n_pending:
            self.pending[job.uid] = job
        else:
            self.pending.pop(job.uid, None)
        self._waiting = self._running = None

    def waiting(self, device_memory: int | None) -> Members:
        """Return the jobs with pods that wait; alike where each asks for the same next.

        `device_memory` is MiB of the smallest device of the cluster, the same throughout a session.
        """
        if self._waiting is None:
            jobs = in_order(self.pending.values())
            self._waiting = _members(self.queue, jobs, [job.init_request(device_memory) for job in jobs])
            self._waiting.ordered.sort(key=self._key, reverse=True)
        return self._waiting

    def running(self) -> Members:
        """Return the preemptible jobs that hold a place; alike where each holds the same."""
        if self._running is None:
            jobs = [job for job in self.jobs.values() if job.n_active_allocated and job.preemptible]
            self._running = _members(self.queue, jobs, [job.allocated_quantities for job in jobs])
            self._running.ordered.sort(key=self._key)
        return self._running

    def _key(self, job: Job) -> tuple[int, int, float, str]:
        return job.order_key(self._plugins)


def _members(queue: str, jobs: list[Job], counted: list[Quantities]) -> Members:
    are_alike = all(each == counted[0] for each in counted[1:])
    return Members(queue, jobs, list(jobs), are_alike, counted[0] if counted else NO_QUANTITIES)
