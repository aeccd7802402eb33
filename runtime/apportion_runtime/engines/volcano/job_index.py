"""The jobs of a scheduler by what its actions look for, kept between cycles and updated for jobs that changed.

Source: pkg/scheduler/cache, pkg/scheduler/framework/session.go, which list all jobs in each cycle instead.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from apportion_runtime.engines.volcano.group_state import Phase
from apportion_runtime.engines.volcano.jobs import Job, Status


class _Entry(NamedTuple):
    """What is known about a job; None for the priority of a job without placed pods.

    `has_surplus` means that it has placed more pods than its gang minimum.
    """

    queue: str
    is_counted: bool
    is_pending: bool
    is_wanting: bool
    is_releasing: bool
    is_schedulable: bool
    has_surplus: bool
    held_priority: int | None


class JobIndex:
    """The jobs with pods, without those whose pod groups are deleted.

    Args:
        jobs: The initial jobs.
    """

    def __init__(self, jobs: Iterable[Job] = ()) -> None:
        self._n_added = 0
        self._changed: dict[Job, None] = {}
        self._uncounted: dict[Job, None] = {}
        self._unsettled: dict[Job, None] = {}
        self._phases: dict[Job, Phase] = {}
        """The phases at the start of the cycle, of jobs whose phase was set."""
        self._entries: dict[Job, _Entry] = {}
        self._jobs: dict[str, Job] = {}
        self._pending: dict[Job, None] = {}
        self._wanting: dict[Job, None] = {}
        self._releasing: dict[Job, None] = {}
        self._keys: dict[str, list[str]] = {}
        self._schedulable: dict[str, list[str]] = {}
        self._held: dict[str, Counter[int]] = {}
        self._surplus: Counter[str] = Counter()
        for job in jobs:
            self.add(job)

    def add(self, job: Job) -> None:
        """Add a job, and follow its changes."""
        job.number = self._n_added
        self._n_added += 1
        job.watchers = (self._changed, self._uncounted, self._unsettled)
        job.note_change()

    def remove(self, job: Job) -> None:
        """Remove a job."""
        job.watchers = ()
        self._unsettled.pop(job, None)
        self._changed.pop(job, None)
        self._uncounted[job] = None
        self._replace(job, None)

    def take_uncounted(self) -> list[Job]:
        """Return the jobs that changed or are gone since the last call."""
        found = [*self._uncounted]
        self._uncounted.clear()
        return found

    def begin_cycle(self) -> None:
        """Forget the results of the last cycle."""
        self._phases.clear()
        for job in self.wanting:
            job.begin_cycle()

    def set_phase(self, job: Job, phase: Phase) -> None:
        """Set the phase of a job in a cycle."""
        self._phases.setdefault(job, job.group.phase)
        job.set_phase(phase)

    def settle(self) -> None:
        """Set the phases of the jobs that changed since the end of the last cycle."""
        self._refresh()
        changed = [job for job in self._unsettled if self.has(job)]
        self._unsettled.clear()
        for job in changed:
            phase = job.next_phase()
            if phase is not job.group.phase:
                self.set_phase(job, phase)

    @property
    def has_changed_phases(self) -> bool:
        """Whether the phase of any job differs from that at the start of the cycle."""
        return any(job.group.phase is not phase for job, phase in self._phases.items())

    def has(self, job: Job) -> bool:
        """Return whether a job has pods, and its pod group is not deleted."""
        entry = self._entries.get(job)
        return entry is not None and entry.is_counted

    def is_schedulable(self, job: Job) -> bool:
        """Return whether a job is enqueued and has its gang minimum of pods."""
        self._refresh()
        entry = self._entries.get(job)
        return entry is not None and entry.is_schedulable

    @property
    def jobs(self) -> Mapping[str, Job]:
        """The jobs by key."""
        self._refresh()
        return self._jobs

    @property
    def pending(self) -> list[Job]:
        """The jobs whose pod groups are pending."""
        self._refresh()
        return _by_age(self._pending)

    @property
    def wanting(self) -> list[Job]:
        """The jobs with pending pods."""
        self._refresh()
        return _by_age(self._wanting)

    @property
    def releasing(self) -> list[Job]:
        """The jobs with terminating pods, including those whose pod groups are deleted."""
        self._refresh()
        return _by_age(self._releasing)

    @property
    def keys(self) -> Mapping[str, list[str]]:
        """The keys of the jobs of each queue, in order."""
        self._refresh()
        return self._keys

    @property
    def schedulable(self) -> Mapping[str, list[str]]:
        """The keys of the enqueued jobs of each queue that have their gang minimum of pods, in order."""
        self._refresh()
        return self._schedulable

    def has_surplus(self, queue: str) -> bool:
        """Return whether any job of a queue has placed more pods than its gang minimum."""
        self._refresh()
        return self._surplus[queue] > 0

    def least_priority(self, queue: str) -> int | None:
        """Return the lowest priority of the jobs of a queue that have placed pods; None if there are none."""
        self._refresh()
        return min(self._held.get(queue, ()), default=None)

    def _refresh(self) -> None:
        if self._changed:
            for job in self._changed:
                self._replace(job, _entry(job) if job.tasks else None)
            self._changed.clear()

    def _replace(self, job: Job, entry: _Entry | None) -> None:
        before = self._entries.get(job)
        if entry == before:
            return
        if before is not None:
            self._drop(job, before)
        if entry is None:
            del self._entries[job]
        else:
            self._entries[job] = entry
            self._put(job, entry)

    def _drop(self, job: Job, entry: _Entry) -> None:
        self._pending.pop(job, None)
        self._wanting.pop(job, None)
        self._releasing.pop(job, None)
        if entry.is_counted:
            del self._jobs[job.key]
            _remove(self._keys, entry.queue, job.key)
        if entry.is_schedulable:
            _remove(self._schedulable, entry.queue, job.key)
        self._surplus[entry.queue] -= entry.has_surplus
        if entry.held_priority is not None:
            held = self._held[entry.queue]
            held[entry.held_priority] -= 1
            if not held[entry.held_priority]:
                del held[entry.held_priority]

    def _put(self, job: Job, entry: _Entry) -> None:
        if entry.is_pending:
            self._pending[job] = None
        if entry.is_wanting:
            self._wanting[job] = None
        if entry.is_releasing:
            self._releasing[job] = None
        if entry.is_counted:
            self._jobs[job.key] = job
            insort(self._keys.setdefault(entry.queue, []), job.key)
        if entry.is_schedulable:
            insort(self._schedulable.setdefault(entry.queue, []), job.key)
        self._surplus[entry.queue] += entry.has_surplus
        if entry.held_priority is not None:
            self._held.setdefault(entry.queue, Counter())[entry.held_priority] += 1


def _entry(job: Job) -> _Entry:
    counts = not job.is_deleted
    return _Entry(
        job.queue,
        is_counted=counts,
        is_pending=counts and job.group.phase is Phase.PENDING,
        is_wanting=counts and bool(job.counts[Status.PENDING]),
        is_releasing=bool(job.counts[Status.RELEASING]),
        is_schedulable=counts and job.group.phase is not Phase.PENDING and job.is_valid,
        has_surplus=job.n_ready > job.least,
        held_priority=job.group.priority if counts and job.n_holding else None,
    )


def _by_age(jobs: Iterable[Job]) -> list[Job]:
    return sorted(jobs, key=lambda job: job.number)


def _remove(keys: dict[str, list[str]], queue: str, key: str) -> None:
    found = keys[queue]
    del found[bisect_left(found, key)]
    if not found:
        del keys[queue]
