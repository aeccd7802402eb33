"""The jobs of one queue: which of them wait, and which run and may be evicted, kept until one of them changes."""

from __future__ import annotations

from typing import NamedTuple

from apportion_runtime.core.job import Job
from apportion_runtime.core.resources import NO_QUANTITIES, Quantities


class Members(NamedTuple):
    """Some jobs of a queue.

    Attributes:
        jobs: In the session's order.
        ordered: The same, the next to be taken last.
        are_alike: Whether they count the same in the order of queues.
        counted: What each counts for there where they are alike: what it asks for next, or as a victim what it holds.
    """

    jobs: list[Job]
    ordered: list[Job]
    are_alike: bool
    counted: Quantities = NO_QUANTITIES


class Family:
    """All jobs of a queue."""

    __slots__ = ("_plugins", "_running", "_waiting", "jobs", "queue")

    def __init__(self, queue: str, plugins: frozenset[str]) -> None:
        self.queue = queue
        self.jobs: list[Job] = []
        self._plugins = plugins
        self._waiting: Members | None = None
        self._running: Members | None = None

    def add(self, job: Job) -> None:
        """Take in a job, which will tell when it changes."""
        self.jobs.append(job)
        job.family = self
        self.forget()

    def replace(self, before: Job, job: Job) -> None:
        """Put a job in the place of what it was."""
        self.jobs[self.jobs.index(before)] = job
        before.family, job.family = None, self
        self.forget()

    def remove(self, job: Job) -> None:
        """Let go of a job."""
        self.jobs.remove(job)
        job.family = None
        self.forget()

    def forget(self) -> None:
        """Forget what was kept: a job changed."""
        self._waiting = self._running = None

    def waiting(self, device_memory: int | None) -> Members:
        """Return the jobs with pods that wait; alike where each asks for the same next.

        `device_memory` is MiB of the smallest device of the cluster, the same throughout a session.
        """
        if self._waiting is None:
            jobs = [job for job in self.jobs if job.n_pending]
            self._waiting = _members(jobs, [job.init_request(device_memory) for job in jobs])
            self._waiting.ordered.sort(key=self._key, reverse=True)
        return self._waiting

    def running(self) -> Members:
        """Return the preemptible jobs that hold a place; alike where each holds the same."""
        if self._running is None:
            jobs = [job for job in self.jobs if job.n_active_allocated and job.preemptible]
            self._running = _members(jobs, [job.allocated_quantities for job in jobs])
            self._running.ordered.sort(key=self._key)
        return self._running

    def _key(self, job: Job) -> tuple[int, int, float, str]:
        return job.order_key(self._plugins)


def _members(jobs: list[Job], counted: list[Quantities]) -> Members:
    are_alike = all(each == counted[0] for each in counted[1:])
    return Members(jobs, list(jobs), are_alike, counted[0] if counted else NO_QUANTITIES)
