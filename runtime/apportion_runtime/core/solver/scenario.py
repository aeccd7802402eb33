"""A set of victims that might make room for a job.

Source: pkg/scheduler/actions/common/solvers/scenario/.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from apportion_runtime.core.job import Job
from apportion_runtime.core.session import Session
from apportion_runtime.core.task import Task


class Scenario:
    """The job that needs room, its pods, and the victims: those found before and those tried now.

    Victims come in batches, one for each time a job was taken from the order of victims; a batch is kept whole.
    """

    __slots__ = ("batches", "by_node", "pending", "potential", "preemptor", "recorded", "recorded_jobs", "session")

    def __init__(
        self, session: Session, preemptor: Job, pending: Sequence[Task], recorded: Sequence[Sequence[Task]]
    ) -> None:
        self.session = session
        self.preemptor = preemptor
        self.pending = pending
        self.recorded_jobs = recorded
        self.recorded: list[Task] = [task for batch in recorded for task in batch]
        self.potential: list[Task] = []
        self.batches: list[list[Task]] = []
        self.by_node: dict[int, list[str]] = {}

    def add(self, tasks: Sequence[Task]) -> None:
        """Add a batch of victims of one job."""
        if not tasks:
            return
        self.potential += tasks
        self.batches.append(list(tasks))
        for task in tasks:
            jobs = self.by_node.setdefault(task.node, [])
            if task.job not in jobs:
                jobs.append(task.job)

    def victims(self) -> list[Task]:
        """Return all victims, those found before first."""
        return [*self.recorded, *self.potential]

    def victims_by_job(self) -> dict[str, list[Task]]:
        """Return all victims by job."""
        by_job: dict[str, list[Task]] = {}
        for task in self.victims():
            by_job.setdefault(task.job, []).append(task)
        return by_job

    def batch_of(self, task: Task) -> Sequence[Task]:
        """Return the batch that a victim came with, those found before first."""
        for batch in (*self.recorded_jobs, *self.batches):
            if any(other is task for other in batch):
                return batch
        raise KeyError(task.uid)

    def fingerprint(self) -> tuple[tuple[str, ...], ...]:
        """Return the key by which equal scenarios are recognised, in whatever order they were assembled.

        A victim that occurs twice makes a different scenario.
        """
        return _uids(self.pending), _uids(self.recorded), _uids(self.potential)

    def narrowed(self, batches: Iterable[Sequence[Task]]) -> Scenario:
        """Return the scenario with other victims to try."""
        made = Scenario(self.session, self.preemptor, self.pending, self.recorded_jobs)
        for batch in batches:
            made.add(batch)
        return made


def _uids(tasks: Iterable[Task]) -> tuple[str, ...]:
    return tuple(sorted(task.uid for task in tasks))
