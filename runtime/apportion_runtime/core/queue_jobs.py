"""The jobs of each queue: which are pending, and which run and may be evicted, kept until one of them changes.

Actions visit the active jobs of a session alone: no cycle looks at every job.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple

from apportion_runtime.core.job import Job
from apportion_runtime.core.resources import NO_QUANTITIES, Quantities

_NUMBER = attrgetter("number")


class JobList(NamedTuple):
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


class ActiveJobs:
    """The jobs of a session that a cycle has to look at, by id.

    Attributes:
        changed: Those that changed since the cycle began.
        pending: Those with pods that wait.
        unsettled: Those that changed since stale gangs were looked for, and those that were stale then.
        unclassified: Those that came, changed or left since `class_outcomes` looked at them.
    """

    __slots__ = ("changed", "pending", "unclassified", "unsettled")

    def __init__(self) -> None:
        self.changed: dict[str, Job] = {}
        self.pending: dict[str, Job] = {}
        self.unsettled: dict[str, Job] = {}
        self.unclassified: dict[str, None] = {}

    def note(self, job: Job) -> None:
        """A job came or changed."""
        self.changed[job.uid] = self.unsettled[job.uid] = job
        self.unclassified[job.uid] = None
        if job.n_pending:
            self.pending[job.uid] = job
        else:
            self.pending.pop(job.uid, None)

    def drop(self, uid: str) -> None:
        """A job is gone."""
        self.changed.pop(uid, None)
        self.pending.pop(uid, None)
        self.unsettled.pop(uid, None)
        self.unclassified[uid] = None


def in_order(jobs: Iterable[Job]) -> list[Job]:
    """Return jobs in the session's order."""
    return sorted(jobs, key=_NUMBER)


class QueueJobs:
    """All jobs of a queue."""

    __slots__ = ("_active_jobs", "_plugins", "_running", "_waiting", "jobs", "pending", "queue")

    def __init__(self, queue: str, plugins: frozenset[str], active_jobs: ActiveJobs) -> None:
        self.queue = queue
        self.jobs: dict[str, Job] = {}
        self.pending: dict[str, Job] = {}
        self._plugins = plugins
        self._active_jobs = active_jobs
        self._waiting: JobList | None = None
        self._running: JobList | None = None

    def put(self, job: Job) -> None:
        """Take in a job, which will tell when it changes, at the end or in the place of what it was."""
        before = self.jobs.get(job.uid)
        if before is not None:
            before.on_change = None
        self.jobs[job.uid] = job
        job.on_change = self.changed
        self.changed(job)

    def remove(self, job: Job) -> None:
        """Let go of a job."""
        del self.jobs[job.uid]
        self.pending.pop(job.uid, None)
        job.on_change = None
        self._active_jobs.drop(job.uid)
        self._waiting = self._running = None

    def changed(self, job: Job) -> None:
        """Forget what was kept: a job changed."""
        self._active_jobs.note(job)
        if job.n_pending:
            self.pending[job.uid] = job
        else:
            self.pending.pop(job.uid, None)
        self._waiting = self._running = None

    def waiting(self, device_memory: int | None) -> JobList:
        """Return the jobs with pods that wait; alike where each asks for the same next.

        `device_memory` is MiB of the smallest device of the cluster, the same throughout a session.
        """
        if self._waiting is None:
            jobs = in_order(self.pending.values())
            self._waiting = _job_list(self.queue, jobs, [job.init_request(device_memory) for job in jobs])
            self._waiting.ordered.sort(key=self._key, reverse=True)
        return self._waiting

    def running(self) -> JobList:
        """Return the preemptible jobs that hold a place; alike where each holds the same."""
        if self._running is None:
            jobs = [job for job in self.jobs.values() if job.n_active_allocated and job.preemptible]
            self._running = _job_list(self.queue, jobs, [job.allocated_quantities for job in jobs])
            self._running.ordered.sort(key=self._key)
        return self._running

    def _key(self, job: Job) -> tuple[int, int, float, str]:
        return job.order_key(self._plugins)


def _job_list(queue: str, jobs: list[Job], counted: list[Quantities]) -> JobList:
    are_alike = all(each == counted[0] for each in counted[1:])
    return JobList(queue, jobs, list(jobs), are_alike, counted[0] if counted else NO_QUANTITIES)
