"""A job queue: the next job, the jobs in backoff after a refusal, and the position of each job.

* `Round`: a refused job backs off for a time that doubles with every attempt, and the next one is tried.
* `Block`: no job is dequeued before the head, even while the head backs off.
* `Priority`: like Round, but whenever quota is released, all jobs are retried immediately in order, so that no job
  takes quota that an earlier one waits for.

Source: kube-queue/kube-queue at b9bbeb9, pkg/queue/schedulingqueue (the two heaps and the backoff), and
koordinator-sh/koord-queue, pkg/queue/queuepolicies/schedulingqueuev2 (order, Block, release of quota).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import yaml

from apportion_api.ack import names
from apportion_api.ack.objects import Queue
from apportion_api.objects import read
from apportion_runtime.admission.objects import Manifest
from apportion_runtime.kube_queue.amounts import Amounts
from apportion_runtime.snapshots.yaml_bounds import check_bounds

WouldFailAgain = Callable[[str, int], bool]
"""Returns whether a quota would still refuse the same job, given its number of releases at the refusal."""
_FIRST_BACKOFF_S, _LONGEST_BACKOFF_S = 1.0, 20.0


class Policy(Enum):
    """The queueing policy."""

    ROUND = "Round"
    BLOCK = "Block"
    PRIORITY = "Priority"


@dataclass(frozen=True, slots=True)
class Unit:
    """A QueueUnit: a queued job.

    Attributes:
        job: The number of the workload; earlier ones have smaller numbers.
        name: The name of the QueueUnit: the job's name with a suffix for its kind.
        quota: The path of its quota in the tree.
        demand: The total request of its pods.
        since: The time it was enqueued, in seconds since 1970.
        attempts: The number of refusals.
        silent_until: The end of its backoff; None while it is active.
        refused_by: The path of the quota that refused it; empty if it was requeued, and backs off whatever quota is
            released.
        n_given: The number of releases of that quota at the refusal: until it grows, the job is refused again.
    """

    job: int
    name: str
    namespace: str
    quota: str
    demand: Amounts
    priority: int
    preemptible: bool
    since: float
    attempts: int = 0
    silent_until: float | None = None
    refused_by: str = ""
    n_given: int = 0


@dataclass(frozen=True, slots=True)
class Backoff:
    """The backoff of a refused job, which doubles each time."""

    first_s: float = _FIRST_BACKOFF_S
    longest_s: float = _LONGEST_BACKOFF_S

    def after(self, attempts: int) -> float:
        """Return the backoff after a number of attempts, at least 1."""
        # Doubling often enough exceeds any bound, and the range of a float.
        return min(self.longest_s, self.first_s * 2.0 ** min(attempts - 1, 64))


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """A Queue object: its name, its quota, and its policy."""

    name: str
    quota: str
    policy: Policy = Policy.ROUND
    priority: int = 0
    backoff: Backoff = field(default_factory=Backoff)


@dataclass(slots=True)
class JobQueue:
    """The jobs of one queue."""

    settings: QueueSettings
    units: dict[int, Unit] = field(default_factory=dict)
    by_creation: bool = False
    """Whether jobs of the same second are sorted by name: koord-queue reads the creation time of QueueUnits."""
    version: int = 0
    """The number of changes of its jobs."""
    _ends: tuple[int, int, float] = (-1, 0, math.inf)
    """A version, its number of jobs in backoff, and the first end of their backoffs."""

    def rank(self, unit: Unit) -> tuple[int, bool, float, str, int]:
        """Return the sort key of a job: priority, then arrival.

        In a `Block` or `Priority` queue, jobs that are not preemptible precede others of their priority (koord-queue,
        `less` in schedulingqueuev2.go); kube-queue does not distinguish them.
        """
        comes_later = unit.preemptible and self.settings.policy is not Policy.ROUND
        if self.by_creation:
            return (-unit.priority, comes_later, float(int(unit.since)), f"{unit.namespace}/{unit.name}", unit.job)
        return (-unit.priority, comes_later, unit.since, "", unit.job)

    def put(self, unit: Unit) -> None:
        """Add or replace a job."""
        self.version += 1
        self.units[unit.job] = unit

    def drop(self, job: int) -> Unit | None:
        """Remove a job and return it; None if it is not in the queue."""
        self.version += 1
        return self.units.pop(job, None)

    def _backoffs(self) -> tuple[int, float]:
        """Return the number of jobs in backoff, and the first end of their backoffs."""
        version, n_silent, first = self._ends
        if version != self.version:
            ends = [unit.silent_until for unit in self.units.values() if unit.silent_until is not None]
            n_silent, first = len(ends), min(ends, default=math.inf)
            self._ends = self.version, n_silent, first
        return n_silent, first

    @property
    def has_active(self) -> bool:
        """Whether any job is active."""
        return self._backoffs()[0] < len(self.units)

    def active(self) -> list[Unit]:
        """Return the active jobs, the next one first."""
        return sorted((unit for unit in self.units.values() if unit.silent_until is None), key=self.rank)

    def silent(self) -> list[Unit]:
        """Return the jobs in backoff, in order of its end."""
        kept = (
            (unit.silent_until, self.rank(unit), unit) for unit in self.units.values() if unit.silent_until is not None
        )
        return [unit for _, _, unit in sorted(kept, key=lambda each: each[:2])]

    def next(self) -> Unit | None:
        """Return the next active job; None if there is none."""
        tried = [unit for unit in self.units.values() if unit.silent_until is None]
        if not tried:
            return None
        best = min(tried, key=self.rank)
        if self.settings.policy is Policy.BLOCK and best is not min(self.units.values(), key=self.rank):
            return None
        return best

    def refuse(self, job: int, now: float, refused_by: str, n_given: int) -> Unit:
        """Put a refused job into backoff, and return it."""
        unit = self.units[job]
        attempts = unit.attempts + 1
        until = now + self.settings.backoff.after(attempts)
        made = replace(unit, attempts=attempts, silent_until=until, refused_by=refused_by, n_given=n_given)
        self.put(made)
        return made

    def record_refusal(self, job: int, refused_by: str, n_given: int) -> Unit:
        """Record the refusal of a job that stays active, and return it."""
        unit = self.units[job]
        made = replace(unit, attempts=unit.attempts + 1, refused_by=refused_by, n_given=n_given)
        self.put(made)
        return made

    def catch_up(self, now: float, would_fail_again: WouldFailAgain) -> None:
        """Count the attempts until now that were bound to fail because no quota had been released."""
        if self._backoffs()[1] >= now:
            return
        for unit in list(self.units.values()):
            at = unit.silent_until
            if at is not None and at < now and would_unit_fail_again(unit, would_fail_again):
                self.put(self._after_attempts(unit, at, now))

    def _after_attempts(self, unit: Unit, at: float, now: float) -> Unit:
        backoff, attempts = self.settings.backoff, unit.attempts
        while at < now:
            attempts += 1
            pause = backoff.after(attempts)
            # At the longest pause, as many attempts as fit until now are one step.
            n_more = int((now - at) // pause) if pause == backoff.longest_s else 0
            n_more = max(1, n_more)
            attempts, at = attempts + n_more - 1, at + n_more * pause
        return replace(unit, attempts=attempts, silent_until=at)

    def wake(self, now: float) -> bool:
        """Reactivate jobs whose backoff ended; return whether there are any.

        A job that will be refused again takes its turn, too.
        """
        return self._backoffs()[1] <= now and self._wake(
            unit for unit in self.units.values() if unit.silent_until is not None and unit.silent_until <= now
        )

    def given_back(self, would_fail_again: WouldFailAgain) -> bool:
        """Reactivate the jobs that the policy retries when quota is released; return whether there are any."""
        if self.settings.policy is Policy.ROUND:
            return False
        return self._wake(
            unit
            for unit in self.units.values()
            if unit.silent_until is not None and unit.refused_by and not would_fail_again(unit.refused_by, unit.n_given)
        )

    def _wake(self, units: Iterable[Unit]) -> bool:
        woken = [replace(unit, silent_until=None) for unit in units]
        for unit in woken:
            self.put(unit)
        return bool(woken)

    def wakes_at(self, would_fail_again: WouldFailAgain) -> float | None:
        """Return the end of the next backoff whose job would not be refused again; None if there is none."""
        return min(
            (
                unit.silent_until
                for unit in self.units.values()
                if unit.silent_until is not None and not would_unit_fail_again(unit, would_fail_again)
            ),
            default=None,
        )

    def first_priority(self, job: int) -> int:
        """Return the lowest priority with which a job is at the head: its own if it already is."""
        unit = self.units[job]
        others = [other for other in self.units.values() if other.job != job]
        first = min(map(self.rank, others), default=None)
        return (
            unit.priority if first is None or self.rank(unit) < first else max(other.priority for other in others) + 1
        )

    def change_priority(self, job: int, priority: int, now: float) -> Unit:
        """Change the priority of a job, and return it.

        In a `Round` queue, the job is then queued as if it had just arrived: kube-queue replaces it, with its arrival,
        its attempts and its backoff (Update in pkg/queue/schedulingqueue/priority_scheduling_queue.go).
        """
        unit = replace(self.units[job], priority=priority)
        if self.settings.policy is Policy.ROUND and priority != self.units[job].priority:
            silent_until = None if unit.silent_until is None else now + self.settings.backoff.first_s
            unit = replace(unit, since=now, attempts=0, silent_until=silent_until)
        self.put(unit)
        return unit

    def details(self) -> dict[str, list[dict[str, Any]]]:
        """Return the position of each job, as in the status of the Queue."""
        return {"active": _items(self.active()), "backoff": _items(self.silent())}


def would_unit_fail_again(unit: Unit, would_fail_again: WouldFailAgain) -> bool:
    """Return whether a job would be refused again by the quota that refused it."""
    return bool(unit.refused_by) and would_fail_again(unit.refused_by, unit.n_given)


def _items(units: Iterable[Unit]) -> list[dict[str, Any]]:
    return [
        {"name": unit.name, "namespace": unit.namespace, "position": position, "priority": unit.priority}
        for position, unit in enumerate(units, 1)
    ]


def read_queue(made: Manifest) -> QueueSettings:
    """Return the settings of a Queue object.

    An unknown policy orders jobs like the default. Raises `ValueError` for invalid arguments.
    """
    queue = read(Queue, made)
    if queue.faults:
        raise ValueError(f"{queue}: {queue.faults[0]}")
    policy = Policy(queue.policy) if queue.policy in {each.value for each in Policy} else Policy.ROUND
    backoff = _backoff(queue.annotations.get(names.QUEUE_ARGS_ANNOTATION, ""), queue.name)
    return QueueSettings(queue.name, queue.quota or "", policy, queue.priority or 0, backoff)


def _backoff(written: str, name: str) -> Backoff:
    try:
        check_bounds(written)
        arguments = yaml.safe_load(written) or {}
        assert isinstance(arguments, Mapping)
        first = float(arguments.get(names.FIRST_BACKOFF, _FIRST_BACKOFF_S))
        longest = float(arguments.get(names.LONGEST_BACKOFF, _LONGEST_BACKOFF_S))
        assert 0 < first <= longest
    except (yaml.YAMLError, ValueError, TypeError, AssertionError):
        raise ValueError(
            f"Queue {name}: {names.QUEUE_ARGS_ANNOTATION} is `{written}`; use YAML with {names.FIRST_BACKOFF} and "
            f"{names.LONGEST_BACKOFF} in seconds; {names.LONGEST_BACKOFF} must not be less than {names.FIRST_BACKOFF}"
        ) from None
    return Backoff(first, longest)
