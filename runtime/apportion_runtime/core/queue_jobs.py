"""The pending jobs and the evictable running jobs of each queue, cached until one of them changes.

Actions visit only the active jobs of a session: no cycle looks at every job.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
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
        ordered: The same, the next one last.
        are_alike: Whether all have the same amounts, so that the order of queues does not depend on which is next.
        counted: These amounts if they are alike: the next request, or for victims the allocation.
    """

    queue: str
    jobs: list[Job]
    ordered: list[Job]
    are_alike: bool
    counted: Quantities = NO_QUANTITIES


class ActiveJobs:
    """The jobs of a session that a cycle has to visit, by id.

    Attributes:
        changed: Those that changed since the cycle began.
        pending: Those with pending pods.
        unsettled: Those that changed since the last check for stale gangs, and those found stale by it.
        unclassified: Those added, changed or removed since `PendingClasses.refresh`.
    """

    __slots__ = ("changed", "pending", "unclassified", "unsettled")

    def __init__(self) -> None:
        self.changed: dict[str, Job] = {}
        self.pending: dict[str, Job] = {}
        self.unsettled: dict[str, Job] = {}
        self.unclassified: dict[str, None] = {}

    def note(self, job: Job) -> None:
        """Record a job that was added or changed."""
        self.changed[job.uid] = self.unsettled[job.uid] = job
        self.unclassified[job.uid] = None
        if job.n_pending:
            self.pending[job.uid] = job
        else:
            self.pending.pop(job.uid, None)

    def drop(self, uid: str) -> None:
        """Remove a job."""
        self.changed.pop(uid, None)
        self.pending.pop(uid, None)
        self.unsettled.pop(uid, None)
        self.unclassified[uid] = None


def in_order(jobs: Iterable[Job]) -> list[Job]:
    """Return jobs in the session's order."""
    made = list(jobs)
    if len(made) > 1:
        made.sort(key=_NUMBER)
    return made


class QueueJobs:
    """All jobs of a queue."""

    __slots__ = ("_active_jobs", "_plugins", "_protected", "_running", "_waiting", "jobs", "pending", "queue")

    def __init__(self, queue: str, plugins: frozenset[str], active_jobs: ActiveJobs) -> None:
        self.queue = queue
        self.jobs: dict[str, Job] = {}
        self.pending: dict[str, Job] = {}
        # Jobs that are not victims in this cycle, regardless of their priority.
        self._protected: Collection[str] = frozenset()
        self._plugins = plugins
        self._active_jobs = active_jobs
        self._waiting: JobList | None = None
        self._running: JobList | None = None

    def protect(self, jobs: Collection[str]) -> None:
        """Exclude jobs from the victims of this cycle."""
        self._protected = frozenset(jobs)
        self._running = None

    def put(self, job: Job) -> None:
        """Add a job at the end, or replace it in its place, and follow its changes."""
        before = self.jobs.get(job.uid)
        if before is not None:
            before.on_change = None
        self.jobs[job.uid] = job
        job.on_change = self.changed
        self.changed(job)

    def remove(self, job: Job) -> None:
        """Remove a job."""
        del self.jobs[job.uid]
        self.pending.pop(job.uid, None)
        job.on_change = None
        self._active_jobs.drop(job.uid)
        self._waiting = self._running = None

    def changed(self, job: Job) -> None:
        """Invalidate the lists: a job changed."""
        self._active_jobs.note(job)
        if job.n_pending:
            self.pending[job.uid] = job
        else:
            self.pending.pop(job.uid, None)
        self._waiting = self._running = None

    def waiting(self, device_memory: int | None) -> JobList:
        """Return the pending jobs; alike if their next steps request the same.

        `device_memory` is MiB of the smallest device of the cluster, the same throughout a session.
        """
        if self._waiting is None:
            jobs = in_order(self.pending.values())
            self._waiting = _job_list(self.queue, jobs, [job.init_request(device_memory) for job in jobs])
            self._waiting.ordered.sort(key=self._key, reverse=True)
        return self._waiting

    def running(self) -> JobList:
        """Return the preemptible, unprotected jobs with placed pods; alike if their allocations are the same."""
        if self._running is None:
            jobs = [
                job
                for job in self.jobs.values()
                if job.n_active_allocated and job.preemptible and job.uid not in self._protected
            ]
            self._running = _job_list(self.queue, jobs, [job.allocated_quantities for job in jobs])
            self._running.ordered.sort(key=self._key)
        return self._running

    def _key(self, job: Job) -> tuple[int, int, float, str]:
        return job.order_key(self._plugins)


def _job_list(queue: str, jobs: list[Job], counted: list[Quantities]) -> JobList:
    are_alike = all(each == counted[0] for each in counted[1:])
    return JobList(queue, jobs, list(jobs), are_alike, counted[0] if counted else NO_QUANTITIES)
