"""The queues of a cluster, kept from cycle to cycle: they follow the changes of jobs, QueueUnits, queues and the tree.

The state of a job is read from its annotations and `spec.suspend`, so a scheduler that starts or takes over finds the
same queues; only backoffs begin again, as those of kube-queue do.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field, replace

from apportion_api.ack.names import DEQUEUED_AT_ANNOTATION
from apportion_runtime.admission.objects import Manifest, annotations_of, namespace_of, uid_of
from apportion_runtime.kube.cluster import ObjectKey, key_of
from apportion_runtime.kube.job_cluster import JobCluster
from apportion_runtime.kube.job_records import (
    JobRecord,
    NotQueued,
    Stage,
    is_unit_of,
    read_demand,
    read_job,
    read_released_unit,
    read_unit,
)
from apportion_runtime.kube.job_resources import JOB_KINDS, QUEUE, TREE, UNIT
from apportion_runtime.kube.queue_configuration import QueueConfiguration, read_configuration
from apportion_runtime.kube_queue.job_queue import Unit
from apportion_runtime.kube_queue.job_queues import RUNNING_TIMEOUT, Dequeued, JobQueues
from apportion_runtime.kube_queue.jobs import unit_name

RESUSPENDED = "Suspended by another client"
UnitName = tuple[str, str]
"""Namespace and name of a QueueUnit."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A job as it is in a cycle; None if it does not exist any more."""

    key: ObjectKey
    job: Manifest | None
    record: JobRecord | None
    now: float

    @property
    def stage(self) -> Stage:
        return Stage.ENDED if self.record is None else self.record.at(self.now)

    @property
    def order(self) -> tuple[bool, float, str, ObjectKey]:
        """Its place in a cycle: quota is released first, then jobs are queued as they arrived."""
        if self.record is None:
            return False, 0.0, "", self.key
        is_queued = self.stage in (Stage.SUSPENDED, Stage.RELEASED)
        return is_queued, self.record.enqueued_at, self.record.created, self.key


@dataclass(eq=False)
class AdmissionState:
    """The jobs of a cluster, by number.

    Attributes:
        cluster: The cluster.
        configuration: The tree and the queues; None before they are read.
        queues: The queues with their jobs; None without a valid tree.
        jobs: The kind, namespace and name of each job that is queued, or holds quota.
        manifests: The version of each of these jobs on which decisions are based.
        unconfirmed: Dequeued jobs of which it is not known whether they were released.
        started: Released jobs whose pods have started.
        followed: Released jobs that were read in this cycle; the reader clears it.
        resuspended: Released jobs that are suspended again, and why; the reader clears it.
        uncounted: Why released jobs hold no quota, by job.
        unwritten: Queued jobs whose annotation or QueueUnit may be missing.
        refused: Why suspended jobs are in no queue, by job.
        ended: QueueUnits of jobs that are neither queued nor hold quota any more; the reader clears it.
        gone: The uids of jobs that do not exist any more; the reader clears it.
    """

    cluster: JobCluster
    configuration: QueueConfiguration | None = None
    queues: JobQueues | None = None
    jobs: dict[int, ObjectKey] = field(default_factory=dict)
    manifests: dict[int, Manifest] = field(default_factory=dict)
    unconfirmed: dict[int, Dequeued] = field(default_factory=dict)
    started: dict[int, None] = field(default_factory=dict)
    followed: dict[int, None] = field(default_factory=dict)
    resuspended: dict[int, str] = field(default_factory=dict)
    uncounted: dict[ObjectKey, str] = field(default_factory=dict)
    unwritten: dict[int, None] = field(default_factory=dict)
    refused: dict[ObjectKey, str] = field(default_factory=dict)
    ended: list[UnitName] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    _numbers: dict[ObjectKey, tuple[str, int]] = field(default_factory=dict)
    """The uid and the number of each job."""
    _by_unit: dict[UnitName, int] = field(default_factory=dict)
    _retained: dict[ObjectKey, float] = field(default_factory=dict)
    """Finished jobs whose pods still hold quota, and until when."""
    _n_jobs: int = 0

    def follow(self, now: float) -> None:
        """Update the queues; the time is in seconds since 1970."""
        changes = self.cluster.changes(self)
        self.gone += [uid_of(one.before) for one in changes if one.kind in JOB_KINDS and one.before and not one.after]
        is_due = self.configuration is None or any(change.kind in (TREE, QUEUE) for change in changes)
        if is_due and self._configure():
            followed = [(one["kind"], key_of(one)) for one in self.cluster.objects(*JOB_KINDS)]
        else:
            followed = [(change.kind, change.key) for change in changes if change.kind in JOB_KINDS]
            followed += [key for key, at in self._retained.items() if at <= now]
            units = [change.key for change in changes if change.kind == UNIT]
            numbers = (self._by_unit.get(unit) for unit in units)
            followed += [self.jobs[number] for number in numbers if number is not None]
            # A unit of another object may not be in the way any more, and a queue may accept other quotas.
            followed += self.refused if units or is_due else ()
        if self.queues is None:
            self._refuse_all()
            return
        for seen in sorted((self._seen(key, now) for key in dict.fromkeys(followed)), key=lambda seen: seen.order):
            self._follow(self.queues, seen)

    def _seen(self, key: ObjectKey, now: float) -> _Seen:
        job = self.cluster.get(key[0], *key[1])
        return _Seen(key, job, None if job is None else read_job(job), now)

    def _configure(self) -> bool:
        """Read the tree and the queues; if they have changed, forget the jobs, and return True."""
        before = self.configuration
        self.configuration = current = read_configuration(self.cluster.objects(TREE), self.cluster.objects(QUEUE))
        if before is not None and (current.tree, current.queues) == (before.tree, before.queues):
            return False
        self.jobs, self.manifests, self.unwritten = {}, {}, {}
        self.unconfirmed, self.started, self.followed, self.resuspended = {}, {}, {}, {}
        self.refused, self.uncounted = {}, {}
        self._numbers, self._by_unit, self._retained = {}, {}, {}
        self.queues = None if current.tree is None else JobQueues(current.tree, current.queues)
        return True

    def _follow(self, queues: JobQueues, seen: _Seen) -> None:
        key, job, record = seen.key, seen.job, seen.record
        known = self._numbers.get(key)
        if known is not None and (job is None or known[0] != uid_of(job)):
            self._forget(queues, seen)
        self._retained.pop(key, None)
        self.refused.pop(key, None)
        self.uncounted.pop(key, None)
        if job is None or record is None:
            return
        try:
            match seen.stage:
                case Stage.SUSPENDED:
                    self._enqueue(queues, seen, job, record)
                case Stage.RELEASED:
                    self._hold(queues, seen, job, record)
                case Stage.ENDED | Stage.ENDING | Stage.UNQUEUED:
                    self._forget(queues, seen)
                    self._end_unit(job)
        except NotQueued as wrong:
            self._forget(queues, seen)
            (self.refused if seen.stage is Stage.SUSPENDED else self.uncounted)[key] = str(wrong)

    def _enqueue(self, queues: JobQueues, seen: _Seen, job: Manifest, record: JobRecord) -> None:
        number = self._number(seen.key, job)
        held, queue = queues.held.pop(number, None), queues.queue_of(number)
        is_unconfirmed = self.unconfirmed.pop(number, None) is not None
        self.started.pop(number, None)
        if held is not None:
            queues.give_back(held.unit, seen.now)
        before = None if queue is None else queue.units[number]
        since = record.enqueued_at if record.enqueued_at < math.inf else seen.now
        if before is not None:
            since = before.since
        name, unit = read_unit(job, number, since, self._configured, self.cluster)
        self.unwritten[number] = None
        self._by_unit[unit.namespace, unit.name] = number
        if held is not None and not is_unconfirmed:
            # It is suspended; if another client does so each time, the attempts must become rare.
            queues.put(name, replace(unit, attempts=held.unit.attempts))
            queues.queues[name].refuse(number, seen.now, "", 0)
            # Without the annotation, an own suspension had no response.
            is_own = DEQUEUED_AT_ANNOTATION not in annotations_of(job)
            self.resuspended[number] = RUNNING_TIMEOUT if is_own else RESUSPENDED
        elif before is None or queue is None:
            queues.put(name, unit)
        elif queue.settings.name != name or _request(before) != _request(unit):
            queues.drop(number)
            queues.put(name, unit)
        elif before.priority != unit.priority:
            queues.change_priority(number, unit.priority, seen.now)

    def _hold(self, queues: JobQueues, seen: _Seen, job: Manifest, record: JobRecord) -> None:
        if record.stage is Stage.ENDED:
            self._retained[seen.key] = record.ends_at
        number = self._number(seen.key, job)
        self.followed[number] = None
        if record.has_started:
            self.started[number] = None
        if number in queues.held:
            self._charge(queues, number, job, seen.now)
            return
        if queues.queue_of(number) is not None:
            queues.drop(number)
        self.unwritten.pop(number, None)
        since = seen.now if record.dequeued_at is None else record.dequeued_at
        # A job whose quota does not exist any more cannot hold any of it.
        name, unit = read_released_unit(job, number, since, self._configured, self.cluster)
        self._by_unit[unit.namespace, unit.name] = number
        queues.hold(unit, queues.queues[name].settings, since)

    @staticmethod
    def _charge(queues: JobQueues, number: int, job: Manifest, now: float) -> None:
        """Charge a released job that has changed what its pods request; if it cannot be read, as before."""
        unit = queues.held[number].unit
        with contextlib.suppress(NotQueued):
            demand = read_demand(job)
            if demand != unit.demand:
                queues.change_demand(replace(unit, demand=demand), now)

    def _refuse_all(self) -> None:
        """Without a valid tree, no suspended job is in a queue."""
        (fault,) = self._configured.faults
        found = [(one, read_job(one)) for one in self.cluster.objects(*JOB_KINDS)]
        suspended = [(one["kind"], key_of(one)) for one, record in found if record.stage is Stage.SUSPENDED]
        self.refused = dict.fromkeys(suspended, f"{fault.address}: {fault.message}")

    @property
    def _configured(self) -> QueueConfiguration:
        assert self.configuration is not None
        return self.configuration

    def _number(self, key: ObjectKey, job: Manifest) -> int:
        if key not in self._numbers:
            self._n_jobs += 1
            self._numbers[key] = uid_of(job), self._n_jobs
        number = self._numbers[key][1]
        self.jobs[number] = key
        self.manifests[number] = job
        return number

    def _forget(self, queues: JobQueues, seen: _Seen) -> None:
        _, number = self._numbers.pop(seen.key, ("", 0))
        for by_number in (
            self.jobs,
            self.manifests,
            self.unwritten,
            self.unconfirmed,
            self.started,
            self.followed,
            self.resuspended,
        ):
            by_number.pop(number, None)
        held = queues.held.pop(number, None)
        unit = None if held is None else held.unit
        if held is not None:
            queues.give_back(held.unit, seen.now)
        elif queues.queue_of(number) is not None:
            unit = queues.drop(number)
        if unit is not None:
            self._by_unit.pop((unit.namespace, unit.name), None)
            self.ended.append((unit.namespace, unit.name))

    def _end_unit(self, job: Manifest) -> None:
        """Note the QueueUnit of a job that ended, also if it ended before this state began."""
        name = namespace_of(job), unit_name(job)
        unit = self.cluster.get(UNIT, *name)
        if unit is not None and is_unit_of(unit, job) and name not in self.ended:
            self.ended.append(name)

    def next_end(self) -> float:
        """Return the time at which the next finished job releases its quota; infinite if there is none."""
        return min(self._retained.values(), default=math.inf)


def _request(unit: Unit) -> tuple[object, ...]:
    return unit.quota, unit.demand, unit.preemptible, unit.name
