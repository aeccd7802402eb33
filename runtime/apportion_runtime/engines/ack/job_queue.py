"""A queue of jobs: who is next, who keeps silent for a while because it was refused, and where everybody stands.

* `Round`: whoever was refused keeps silent for a time that doubles with every attempt, and the next one is tried.
* `Block`: nobody goes before the first one, also while that keeps silent.
* `Priority`: as Round, and whenever something is given back, all are tried again at once in their order, so that nobody
  takes what an earlier one waits for.

Source: kube-queue/kube-queue at b9bbeb9, pkg/queue/schedulingqueue (the two heaps, and how long one keeps silent), and
koordinator-sh/koord-queue, pkg/queue/queuepolicies/schedulingqueuev2 (order, Block, what is done when something is
given back).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import yaml

from apportion_api.ack import names
from apportion_api.ack.objects import Queue
from apportion_api.objects import read
from apportion_runtime.admission.objects import Manifest
from apportion_runtime.engines.ack.amounts import Amounts
from apportion_runtime.snapshots.yaml_bounds import check_bounds

IsVain = Callable[[str, int], bool]
"""From a quota, and how often something of it had been given back, to whether it still refuses what it refused then."""
_FIRST_BACKOFF_S, _LONGEST_BACKOFF_S = 1.0, 20.0


class Policy(Enum):
    """In which order jobs are tried."""

    ROUND = "Round"
    BLOCK = "Block"
    PRIORITY = "Priority"


@dataclass(frozen=True, slots=True)
class Unit:
    """A QueueUnit: a job in its queue.

    Attributes:
        job: The number of the workload; earlier ones have smaller numbers.
        name: Of the QueueUnit: the job's with a suffix of its kind.
        quota: The full name of the node of the tree that it counts at.
        demand: What all its pods together ask for.
        since: When it came into the queue, in seconds since 1970.
        attempts: How often it was refused.
        silent_until: When it is tried again; None while it is among those that are tried.
        refused_by: The full name of the quota that had no room for it; empty where it was taken back, and keeps silent
            whatever is given back.
        n_given: How often something of that had been given back by then: until it is more, it is refused again.
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

    @property
    def rank(self) -> tuple[int, float, int]:
        """Where it stands: by priority, then by when it came."""
        return (-self.priority, self.since, self.job)


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long a job keeps silent after it was refused: twice as long each time."""

    first_s: float = _FIRST_BACKOFF_S
    longest_s: float = _LONGEST_BACKOFF_S

    def after(self, attempts: int) -> float:
        """Return how long it is after so many attempts, 1 and more."""
        # What doubles for long enough is beyond any bound, and beyond what a float holds.
        return min(self.longest_s, self.first_s * 2.0 ** min(attempts - 1, 64))


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """A Queue object: its name, the node of the tree whose jobs it takes, and how it orders them."""

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

    def put(self, unit: Unit) -> None:
        """Take in a job, or put another one in its place."""
        self.units[unit.job] = unit

    def drop(self, job: int) -> Unit | None:
        """Take a job out, and return it; None if it is not here."""
        return self.units.pop(job, None)

    def active(self) -> list[Unit]:
        """Return those that are tried, first the one that is next."""
        return sorted((unit for unit in self.units.values() if unit.silent_until is None), key=lambda unit: unit.rank)

    def silent(self) -> list[Unit]:
        """Return those that keep silent, first the one that is over it first."""
        kept = ((unit.silent_until, unit.rank, unit) for unit in self.units.values() if unit.silent_until is not None)
        return [unit for _, _, unit in sorted(kept, key=lambda each: each[:2])]

    def next(self) -> Unit | None:
        """Return the one that is tried next; None where nobody is."""
        tried = [unit for unit in self.units.values() if unit.silent_until is None]
        if not tried:
            return None
        best = min(tried, key=lambda unit: unit.rank)
        return best if self.settings.policy is not Policy.BLOCK or self._first() == [best] else None

    def _first(self) -> list[Unit]:
        """Return the one that stands before all others, also if it keeps silent."""
        return [min(self.units.values(), key=lambda unit: unit.rank)] if self.units else []

    def refuse(self, job: int, now: float, refused_by: str, n_given: int) -> Unit:
        """Have a job keep silent because a quota had no room for it, and return it."""
        unit = self.units[job]
        attempts = unit.attempts + 1
        until = now + self.settings.backoff.after(attempts)
        made = self.units[job] = replace(
            unit, attempts=attempts, silent_until=until, refused_by=refused_by, n_given=n_given
        )
        return made

    def catch_up(self, now: float, is_vain: IsVain) -> None:
        """Count the attempts that were in vain before now, because nothing had been given back since the one before."""
        for unit in list(self.units.values()):
            at = unit.silent_until
            if at is not None and at < now and _is_vain(unit, is_vain):
                self.units[unit.job] = self._after_attempts(unit, at, now)

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

    def wake(self, now: float, is_vain: IsVain) -> bool:
        """Have those be tried again that kept silent for long enough, unless it is in vain; tell whether there are any."""
        return self._wake(
            unit
            for unit in self.units.values()
            if unit.silent_until is not None and unit.silent_until <= now and not _is_vain(unit, is_vain)
        )

    def given_back(self, is_vain: IsVain) -> bool:
        """Have those be tried again whose policy does not wait when something is given back; tell whether there are any."""
        if self.settings.policy is Policy.ROUND:
            return False
        units = self._first() if self.settings.policy is Policy.BLOCK else list(self.units.values())
        return self._wake(
            unit
            for unit in units
            if unit.silent_until is not None and unit.refused_by and not is_vain(unit.refused_by, unit.n_given)
        )

    def _wake(self, units: Iterable[Unit]) -> bool:
        woken = [replace(unit, silent_until=None) for unit in units]
        for unit in woken:
            self.units[unit.job] = unit
        return bool(woken)

    def wakes_at(self, is_vain: IsVain) -> float | None:
        """Return when the next one is over its silence for whom it is not in vain; None where nobody is."""
        return min(
            (
                unit.silent_until
                for unit in self.units.values()
                if unit.silent_until is not None and not _is_vain(unit, is_vain)
            ),
            default=None,
        )

    def jump(self, job: int) -> Unit:
        """Have a job go before all others, by the least priority that does it, and return it."""
        unit = self.units[job]
        others = [other for other in self.units.values() if other.job != job]
        first = min((other.rank for other in others), default=None)
        if first is not None and first < unit.rank:
            unit = replace(unit, priority=max(other.priority for other in others) + 1)
        self.units[job] = unit
        return unit

    def details(self) -> dict[str, list[dict[str, Any]]]:
        """Return where everybody stands, as the status of the Queue has it."""
        return {"active": _items(self.active()), "backoff": _items(self.silent())}


def _is_vain(unit: Unit, is_vain: IsVain) -> bool:
    return bool(unit.refused_by) and is_vain(unit.refused_by, unit.n_given)


def _items(units: Iterable[Unit]) -> list[dict[str, Any]]:
    return [
        {"name": unit.name, "namespace": unit.namespace, "position": position, "priority": unit.priority}
        for position, unit in enumerate(units, 1)
    ]


def read_queue(made: Manifest) -> QueueSettings:
    """Return what a Queue object says.

    A policy that kube-queue does not know orders jobs as by default. Raises `ValueError` for arguments that cannot be
    read.
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
        said = yaml.safe_load(written) or {}
        assert isinstance(said, Mapping)
        first = float(said.get(names.FIRST_BACKOFF, _FIRST_BACKOFF_S))
        longest = float(said.get(names.LONGEST_BACKOFF, _LONGEST_BACKOFF_S))
        assert 0 < first <= longest
    except (yaml.YAMLError, ValueError, TypeError, AssertionError):
        raise ValueError(
            f"Queue {name}: {names.QUEUE_ARGS_ANNOTATION} is `{written}`; set {names.FIRST_BACKOFF} and "
            f"{names.LONGEST_BACKOFF} in YAML, in seconds, the second not less than the first"
        ) from None
    return Backoff(first, longest)
