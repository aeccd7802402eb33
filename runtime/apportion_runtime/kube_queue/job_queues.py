"""The queues of a quota tree: which jobs are dequeued, and the quota that dequeued jobs hold.

Queues take turns by priority, one job each, until no job is left to try; those of koord-queue have loops of their own
(`queue_loops`). A dequeued job holds its quota until it finishes, or is requeued.

Source: kube-queue/kube-queue at b9bbeb9, pkg/scheduler/scheduler.go; koordinator-sh/koord-queue at 298e9a8c,
pkg/scheduler.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from apportion_runtime.kube_queue.job_queue import JobQueue, Policy, QueueSettings, Unit, would_unit_fail_again
from apportion_runtime.kube_queue.queue_loop import SECOND, QueueLoop
from apportion_runtime.kube_queue.queue_loops import QueueLoops, microseconds
from apportion_runtime.kube_queue.queueing import RULES, Queueing, QueueRules
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

    Args:
        tree: The quotas.
        settings: The queues.
        rules: The points in which implementations differ.
        start: The time at which the loops of queues start, in seconds since 1970, if they have loops.
    """

    def __init__(
        self, tree: Tree, settings: Iterable[QueueSettings], rules: QueueRules = RULES[Queueing.ACK], start: float = 0.0
    ) -> None:
        ranks = {path: number for number, path in enumerate(tree.quotas)}
        order = sorted(settings, key=lambda each: (-each.priority, ranks.get(each.quota, len(ranks)), each.name))
        self.tree = tree
        self.accounts = QuotaAccounts(tree, rules)
        self.queues: Mapping[str, JobQueue] = {each.name: JobQueue(each, by_creation=rules.has_loops) for each in order}
        self.held: dict[int, Held] = {}
        self.changed: dict[str, None] = {}
        self._queue_of: dict[int, JobQueue] = {}
        self._ranks = {name: number for number, name in enumerate(self.queues)}
        self._busy: dict[str, JobQueue] = {}
        """The non-empty queues, in the order in which they take turns."""
        self._loops = QueueLoops(self.queues, start) if rules.has_loops else None
        self._decided: list[Dequeued | Refused] = []
        """Decisions of loops before the last event."""
        self._waking: dict[str, tuple[tuple[int, int], float | None]] = {}
        """When each queue is next tried, and the versions of the queue and of the accounts for which that holds."""
        self._released_from: dict[int, str] = {}
        """The queues of dequeued jobs."""

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

    def put(self, name: str, unit: Unit, now: float | None = None) -> None:
        """Add a job to a queue, or replace it, when it arrives or at the given time."""
        at = unit.since if now is None else now
        self._run_loops_before(at)
        queue = self.queues[name]
        queue.put(unit)
        self._queue_of[unit.job] = queue
        self.changed[name] = None
        if name not in self._busy:
            busy = {**self._busy, name: queue}
            self._busy = {each: busy[each] for each in sorted(busy, key=self._ranks.__getitem__)}
        if self._loops is not None:
            self._loops[name].wake(microseconds(at), unit.quota, is_new=True)

    def drop(self, job: int, now: float | None = None) -> Unit:
        """Remove a queued job at a given time, and return it. Raises `KeyError` if it is not queued."""
        name = self._queue_of[job].settings.name
        if self._loops is not None and now is not None:
            self._run_loops_before(now)
        unit = self._take(job)
        if now is not None:
            self._end(name, unit, now)
        return unit

    def _end(self, name: str, unit: Unit, now: float) -> None:
        """Wake the queue of a job that has ended."""
        if self._loops is not None:
            self._loops.n_ended += 1
            self._loops[name].wake(microseconds(now), unit.quota, is_new=False)

    def _take(self, job: int) -> Unit:
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
        if self._loops is not None:
            yield from self._run_loops(self._loops, now)
            return
        tried = {name: iter(queue.active()) for name, queue in self._busy.items() if queue.has_active}
        while tried:
            for name in list(tried):
                queue = self.queues[name]
                unit = queue.next() if queue.settings.policy is Policy.BLOCK else next(tried[name], None)
                if unit is None:
                    del tried[name]
                else:
                    yield self._try(queue, unit, now)

    def _run_loops(self, loops: QueueLoops, now: float) -> Iterator[Dequeued | Refused]:
        """Run the loops until all wait for a later time.

        Their pauses between attempts do not delay the decisions of a cycle.
        """
        time = microseconds(now)
        self._run_loops_before(now)
        decided, self._decided = self._decided, []
        yield from decided
        while (loop := loops.next_unsettled(time)) is not None:
            decision = self._continue(loop, loops.n_ended)
            if decision is not None:
                yield decision

    def _run_loops_before(self, now: float) -> None:
        if self._loops is None:
            return
        time = microseconds(now)
        self._loops.skip(time, self.accounts.would_fail_again)
        while (loop := self._loops.next_before(time)) is not None:
            decision = self._continue(loop, self._loops.n_ended)
            if decision is not None:
                self._decided.append(decision)

    def _continue(self, loop: QueueLoop, n_ended: int) -> Dequeued | Refused | None:
        """Let a loop try its next job, and return the decision; None if it waits, or refuses a job as before."""
        now = loop.due / SECOND
        unit = loop.next(n_ended)
        if unit is None:
            return None
        decision = None
        if not would_unit_fail_again(unit, self.accounts.would_fail_again):
            decision = self._try(loop.queue, unit, now)
        if isinstance(decision, Dequeued):
            loop.dequeued(unit)
        else:
            loop.refused(unit, n_ended)
        return decision

    def _try(self, queue: JobQueue, unit: Unit, now: float) -> Dequeued | Refused:
        refusal = self.accounts.refusal(unit.quota, unit.demand, preemptible=unit.preemptible)
        if refusal is None:
            self._take(unit.job)
            self.hold(unit, queue.settings, now)
            return Dequeued(unit, queue.settings)
        at, why = refusal
        n_given = self.accounts.n_given.get(at, 0)
        if self._loops is None:
            refused = queue.refuse(unit.job, now, at, n_given)
        else:
            refused = queue.record_refusal(unit.job, at, n_given)
        self.changed[queue.settings.name] = None
        return Refused(refused, queue.settings, why)

    def hold(self, unit: Unit, queue: QueueSettings, since: float) -> None:
        """Charge the quota of a job that was dequeued at some time."""
        self.accounts.reserve(unit.quota, unit.demand, preemptible=unit.preemptible)
        self.held[unit.job] = Held(unit, queue, since)
        self._released_from[unit.job] = queue.name

    def give_back(self, unit: Unit, now: float) -> None:
        """Release the quota of a job, and reactivate the jobs that wait for it."""
        self._run_loops_before(now)
        for queue in self._busy.values():
            queue.catch_up(now, self.accounts.would_fail_again)
        self.accounts.unreserve(unit.quota, unit.demand, preemptible=unit.preemptible)
        for queue in self._busy.values():
            if queue.given_back(self.accounts.would_fail_again):
                self.changed[queue.settings.name] = None
        name = self._released_from.pop(unit.job, None)
        if name is not None:
            self._end(name, unit, now)

    def withdraw(self, job: int, now: float) -> None:
        """Return a dequeued job that was not released to its place in its queue, and release its quota."""
        held = self.held.pop(job)
        self.put(held.queue.name, held.unit, now)
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
        self.put(held.queue.name, held.unit, now)
        refused = self.queues[held.queue.name].refuse(job, now, "", 0)
        self.give_back(held.unit, now)
        return Refused(refused, held.queue, RUNNING_TIMEOUT)

    def change_priority(self, job: int, priority: int | None, now: float) -> Unit:
        """Change the priority of a queued job, or move it to the head if that is None, and return it."""
        self._run_loops_before(now)
        queue = self._queue_of[job]
        queue.catch_up(now, self.accounts.would_fail_again)
        unit = queue.change_priority(job, queue.first_priority(job) if priority is None else priority, now)
        self.changed[queue.settings.name] = None
        if self._loops is not None:
            self._loops[queue.settings.name].change()
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
        """Return when a job that would not be refused again is next tried, in seconds since 1970; None if there is none."""
        would_fail_again = self.accounts.would_fail_again
        if self._loops is not None:
            return self._loops.wakes_at(would_fail_again)
        moments: list[float] = []
        for name, queue in self._busy.items():
            state = queue.version, self.accounts.n_changes
            known = self._waking.get(name)
            if known is None or known[0] != state:
                known = self._waking[name] = state, queue.wakes_at(would_fail_again)
            if known[1] is not None:
                moments.append(known[1])
        return min(moments, default=None)
