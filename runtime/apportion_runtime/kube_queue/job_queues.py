"""The queues of a quota tree: which jobs are dequeued, and the quota that dequeued jobs hold.

Queues take turns by priority, one job each, until no job is left to try. A dequeued job holds its quota until it
finishes, or is requeued.

Source: kube-queue/kube-queue at b9bbeb9, pkg/scheduler/scheduler.go; koordinator-sh/koord-queue at 298e9a8c,
pkg/scheduler.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from apportion_runtime.kube_queue.job_queue import JobQueue, Policy, QueueSettings, Unit
from apportion_runtime.kube_queue.quota_accounts import QuotaAccounts
from apportion_runtime.kube_queue.tree import Tree

RUNNING_TIMEOUT = "Backoff due to running timeout"
"""kube-queue's message for a requeued job."""


@dataclass(frozen=True, slots=True)
class Dequeued:
    """A job that may start: it left its queue and holds its quota."""

    unit: Unit
    queue: QueueSettings


@dataclass(frozen=True, slots=True)
class Refused:
    """A job that backs off, and the reason."""

    unit: Unit
    queue: QueueSettings
    why: str


@dataclass(frozen=True, slots=True)
class Held:
    """A dequeued job; `since` is the time at which it was dequeued, in seconds since 1970."""

    unit: Unit
    queue: QueueSettings
    since: float


class JobQueues:
    """The queues of a tree, and the usage of its quotas. Jobs are referred to by their numbers.

    Attributes:
        tree: The quotas.
        accounts: Their usage.
        queues: The queues by name, in the order in which they take turns.
        held: The dequeued jobs, in the order in which they were dequeued.
        changed: The names of queues in which a position has changed; the reader clears it.
    """

    def __init__(self, tree: Tree, settings: Iterable[QueueSettings]) -> None:
        ranks = {path: number for number, path in enumerate(tree.quotas)}
        order = sorted(settings, key=lambda each: (-each.priority, ranks.get(each.quota, len(ranks)), each.name))
        self.tree = tree
        self.accounts = QuotaAccounts(tree)
        self.queues: Mapping[str, JobQueue] = {each.name: JobQueue(each) for each in order}
        self.held: dict[int, Held] = {}
        self.changed: dict[str, None] = {}
        self._queue_of: dict[int, JobQueue] = {}
        self._ranks = {name: number for number, name in enumerate(self.queues)}
        self._busy: dict[str, JobQueue] = {}
        """The non-empty queues, in the order in which they take turns."""

    @property
    def settings(self) -> Iterator[QueueSettings]:
        """The settings of each queue, in the order in which they take turns."""
        return (queue.settings for queue in self.queues.values())

    @property
    def queued(self) -> Iterable[int]:
        """The queued jobs."""
        return self._queue_of.keys()

    def queue_of(self, job: int) -> JobQueue | None:
        """Return the queue of a queued job; None if it is not queued."""
        return self._queue_of.get(job)

    def put(self, name: str, unit: Unit) -> None:
        """Add a job to a queue, or replace it."""
        queue = self.queues[name]
        queue.put(unit)
        self._queue_of[unit.job] = queue
        self.changed[name] = None
        if name not in self._busy:
            busy = {**self._busy, name: queue}
            self._busy = {each: busy[each] for each in sorted(busy, key=self._ranks.__getitem__)}

    def drop(self, job: int) -> Unit:
        """Remove a queued job, and return it. Raises `KeyError` if it is not queued."""
        queue = self._queue_of.pop(job)
        unit = queue.drop(job)
        assert unit is not None
        self.changed[queue.settings.name] = None
        if not queue.units:
            del self._busy[queue.settings.name]
        return unit

    def run(self, now: float) -> Iterator[Dequeued | Refused]:
        """Decide about the jobs whose turn it is, and yield each decision once it is recorded.

        Args:
            now: The time, in seconds since 1970.
        """
        would_fail_again = self.accounts.would_fail_again
        for queue in self._busy.values():
            queue.catch_up(now, would_fail_again)
            if queue.wake(now):
                self.changed[queue.settings.name] = None
        tried = {name: iter(queue.active()) for name, queue in self._busy.items()}
        while tried:
            for name in list(tried):
                queue = self.queues[name]
                unit = queue.next() if queue.settings.policy is Policy.BLOCK else next(tried[name], None)
                if unit is None:
                    del tried[name]
                else:
                    yield self._try(queue, unit, now)

    def _try(self, queue: JobQueue, unit: Unit, now: float) -> Dequeued | Refused:
        refusal = self.accounts.refusal(unit.quota, unit.demand, preemptible=unit.preemptible)
        if refusal is None:
            self.drop(unit.job)
            self.hold(unit, queue.settings, now)
            return Dequeued(unit, queue.settings)
        at, why = refusal
        refused = queue.refuse(unit.job, now, at, self.accounts.n_given.get(at, 0))
        self.changed[queue.settings.name] = None
        return Refused(refused, queue.settings, why)

    def hold(self, unit: Unit, queue: QueueSettings, since: float) -> None:
        """Charge the quota of a job that was dequeued at some time."""
        self.accounts.reserve(unit.quota, unit.demand, preemptible=unit.preemptible)
        self.held[unit.job] = Held(unit, queue, since)

    def give_back(self, unit: Unit, now: float) -> None:
        """Release the quota of a job, and reactivate the jobs that wait for it."""
        for queue in self._busy.values():
            queue.catch_up(now, self.accounts.would_fail_again)
        self.accounts.unreserve(unit.quota, unit.demand, preemptible=unit.preemptible)
        for queue in self._busy.values():
            if queue.given_back(self.accounts.would_fail_again):
                self.changed[queue.settings.name] = None

    def withdraw(self, job: int, now: float) -> None:
        """Return a dequeued job that was not released to its place in its queue, and release its quota."""
        held = self.held.pop(job)
        self.put(held.queue.name, held.unit)
        self.give_back(held.unit, now)

    def change_demand(self, unit: Unit, now: float) -> None:
        """Charge a dequeued job that has changed what its pods request."""
        held = self.held[unit.job]
        self.give_back(held.unit, now)
        self.accounts.reserve(unit.quota, unit.demand, preemptible=unit.preemptible)
        self.held[unit.job] = replace(held, unit=unit)

    def requeue(self, job: int, now: float) -> Refused:
        """Return a dequeued job to its queue, in backoff, and release its quota."""
        held = self.held.pop(job)
        self.put(held.queue.name, held.unit)
        refused = self.queues[held.queue.name].refuse(job, now, "", 0)
        self.give_back(held.unit, now)
        return Refused(refused, held.queue, RUNNING_TIMEOUT)

    def change_priority(self, job: int, priority: int | None, now: float) -> Unit:
        """Change the priority of a queued job, or move it to the head if that is None, and return it."""
        queue = self._queue_of[job]
        queue.catch_up(now, self.accounts.would_fail_again)
        unit = queue.change_priority(job, queue.first_priority(job) if priority is None else priority, now)
        self.changed[queue.settings.name] = None
        return unit

    def place(self, unit: Unit, now: float) -> str:
        """Return the position of a queued job, as a phrase."""
        queue = self._queue_of[unit.job]
        if unit.silent_until is None:
            position = [each.job for each in queue.active()].index(unit.job) + 1
            return f"position {position} in queue {queue.settings.name}"
        position = [each.job for each in queue.silent()].index(unit.job) + 1
        wait = unit.silent_until - now
        return f"position {position} in the backoff queue of {queue.settings.name}, for another {wait:g}s"

    def wakes_at(self) -> float | None:
        """Return the end of the next backoff whose job would not be refused again; None if there is none."""
        would_fail_again = self.accounts.would_fail_again
        moments = (queue.wakes_at(would_fail_again) for queue in self._busy.values())
        return min((at for at in moments if at is not None), default=None)
