"""Cycles of job admission: suspended jobs are enqueued, and released in turn within the quotas of an ElasticQuotaTree.

It replaces kube-queue, and makes the same decisions as the simulated one, with the same functions
(`apportion_runtime.kube_queue`). Pods are not bound here: they are left to the scheduler of the cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from apportion_api.ack.names import ENQUEUED_AT_ANNOTATION
from apportion_runtime.admission.objects import Manifest, annotations_of, uid_of
from apportion_runtime.kube.admission_state import AdmissionState
from apportion_runtime.kube.cluster import ObjectKey
from apportion_runtime.kube.cycle_result import CycleResult
from apportion_runtime.kube.errors import Refused, Unreachable
from apportion_runtime.kube.job_cluster import JobCluster
from apportion_runtime.kube.job_records import read_job
from apportion_runtime.kube.job_resources import JOB, QUEUE, RAY_JOB, UNIT
from apportion_runtime.kube.log import Decision
from apportion_runtime.kube.pending_reasons import PendingReasons
from apportion_runtime.kube.write_pool import Priority, WritePool
from apportion_runtime.kube_queue import jobs
from apportion_runtime.kube_queue.job_queue import Unit
from apportion_runtime.kube_queue.job_queues import Dequeued, JobQueues
from apportion_runtime.kube_queue.job_queues import Refused as QuotaRefusal
from apportion_runtime.kube_queue.queue_units import unit_object
from apportion_runtime.kube_queue.timestamps import stamp

_DEQUEUED = "Dequeued because schedule successfully"
"""kube-queue's message."""
_REPEATED_S = 1.0
"""The time after which rejected writes are tried again."""


@dataclass(slots=True)
class JobAdmission:
    """The cycles of ACK's objects.

    Attributes:
        cluster: The cluster.
        pool: The threads that write.
        started: When this process started, in seconds since 1970; timestamps on jobs count from it.
        requeue_s: The time within which the pods of a dequeued job must start; None if they need not.
        state: The queues.
        reasons: The reasons of waiting jobs, as reported by events.
        written: The kinds that this and another leader write.
    """

    cluster: JobCluster
    pool: WritePool
    started: float
    requeue_s: float | None = None
    state: AdmissionState = field(init=False)
    reasons: PendingReasons = field(default_factory=PendingReasons)
    written: Sequence[str] = (JOB, RAY_JOB, UNIT, QUEUE)

    def __post_init__(self) -> None:
        self.take_over()

    def take_over(self) -> None:
        """Read the queues again."""
        self.state = AdmissionState(self.cluster)

    def run(self, now: float) -> CycleResult:
        """Run a cycle at a time in seconds since 1970.

        Raises:
            NotLeader: If this scheduler lost its lease; the remaining writes are not sent.
        """
        try:
            return self._run(now)
        except BaseException:
            # The queues may contain decisions that were not carried out.
            self.take_over()
            raise

    def _run(self, now: float) -> CycleResult:
        result, state = CycleResult(), self.state
        state.follow(now)
        configuration = state.configuration
        assert configuration is not None
        result.faults = configuration.faults
        self._remove_units()
        for key, why in state.refused.items():
            self._report(key, "NotQueued", why, is_warning=True)
        if state.queues is None:
            return result
        self._create_queues(configuration.missing, result)
        self._write_enqueued(state.queues, result, now)
        self._requeue_overdue(state.queues, result, now)
        decisions = list(state.queues.run(now))
        for decision in decisions:
            if isinstance(decision, QuotaRefusal):
                self._wait(state.queues, decision, now)
        self._release(state.queues, [one for one in decisions if isinstance(one, Dequeued)], result, now)
        result.queued_jobs = Counter({queue.settings.name: len(queue.units) for queue in state.queues.queues.values()})
        result.next_cycle_s = min(result.next_cycle_s, *(at - now for at in self._moments(state.queues)))
        return result

    def _moments(self, queues: JobQueues) -> Iterator[float]:
        yield self.state.next_end()
        wakes_at = queues.wakes_at()
        if wakes_at is not None:
            yield wakes_at
        if self.requeue_s is not None:
            yield from (
                held.since + self.requeue_s for held in queues.held.values() if not self._has_started(held.unit)
            )

    def _create_queues(self, queues: Sequence[Manifest], result: CycleResult) -> None:
        missing = [
            one
            for one in queues
            if self.cluster.get(QUEUE, one["metadata"]["namespace"], one["metadata"]["name"]) is None
        ]
        writes = [self.pool.submit(Priority.GROUP, partial(self.cluster.create, one)) for one in missing]
        for one, write in zip(missing, writes, strict=True):
            self._outcome(f"{QUEUE} {one['metadata']['namespace']}/{one['metadata']['name']}", write, result)

    def _write_enqueued(self, queues: JobQueues, result: CycleResult, now: float) -> None:
        """Write the annotation and the QueueUnit of the jobs that lack them."""
        open_writes: list[tuple[int, Future[Manifest]]] = []
        for number in self.state.unwritten:
            queue, job = queues.queue_of(number), self._job(number)
            if queue is None or job is None:
                continue
            unit, kind_and_name = queue.units[number], self.state.jobs[number]
            if ENQUEUED_AT_ANNOTATION not in annotations_of(job):
                patch = jobs.enqueueing(self._stamp(now)).patch(job)
                write = partial(self.cluster.merge, kind_and_name[0], *kind_and_name[1], patch)
                open_writes.append((number, self.pool.submit(Priority.GROUP, write)))
            if self.cluster.get(UNIT, unit.namespace, unit.name) is None:
                made = unit_object(job, unit, queue.settings.name)
                open_writes.append((number, self.pool.submit(Priority.GROUP, partial(self.cluster.create, made))))
                where = queues.place(unit, now)
                self.pool.note(("enqueued", uid_of(job)), partial(self.cluster.record, job, "Enqueued", where))
        failed = {
            number for number, write in open_writes if not self._outcome(_shown(self.state.jobs[number]), write, result)
        }
        self.state.unwritten = dict.fromkeys(failed)
        if failed:
            result.next_cycle_s = min(result.next_cycle_s, _REPEATED_S)

    def _requeue_overdue(self, queues: JobQueues, result: CycleResult, now: float) -> None:
        """Suspend the jobs whose pods did not start in time, and return them to their queues."""
        if self.requeue_s is None:
            return
        overdue = [
            held.unit
            for held in queues.held.values()
            if held.since + self.requeue_s <= now and not self._has_started(held.unit)
        ]
        for unit in overdue:
            job = self._job(unit.job)
            if job is None:
                continue
            if not self._change(unit, job, jobs.suspension(job), result):
                continue
            refused = queues.requeue(unit.job, now)
            place = queues.place(refused.unit, now)
            self._set_phase(refused.unit, "Backoff", refused.why)
            self._record(job, "Requeued", f"{refused.why}; {place}")
            key = self.state.jobs[unit.job]
            line = f"requeued {_shown(key)} in queue {refused.queue.name}: {refused.why}"
            result.decisions.append(
                Decision(line, decision="requeue", job=_shown(key), queue=refused.queue.name, quota=unit.quota)
            )

    def _wait(self, queues: JobQueues, refused: QuotaRefusal, now: float) -> None:
        key = self.state.jobs[refused.unit.job]
        self._set_phase(refused.unit, "Enqueued", refused.why)
        self._report(key, "Backoff", f"{refused.why}; {queues.place(refused.unit, now)}", is_warning=False)

    def _release(self, queues: JobQueues, dequeued: Sequence[Dequeued], result: CycleResult, now: float) -> None:
        found = [(one, job) for one in dequeued if (job := self._job(one.unit.job)) is not None]
        writes = [
            self.pool.submit(Priority.BIND, partial(self._patch, one.unit, job, jobs.resumption(job, self._stamp(now))))
            for one, job in found
        ]
        for (one, job), write in zip(found, writes, strict=True):
            key, unit = self.state.jobs[one.unit.job], one.unit
            if not self._outcome(_shown(key), write, result):
                # It is tried again after a backoff.
                queues.requeue(unit.job, now)
                result.next_cycle_s = min(result.next_cycle_s, _REPEATED_S)
                continue
            self.reasons.forget(uid_of(job))
            self._set_phase(unit, "Dequeued", _DEQUEUED)
            self._record(job, "Dequeued", f"from queue {one.queue.name}")
            result.n_released += 1
            line = f"dequeued {_shown(key)} from queue {one.queue.name}, in quota {unit.quota}"
            result.decisions.append(
                Decision(line, decision="dequeue", job=_shown(key), queue=one.queue.name, quota=unit.quota)
            )

    def _change(self, unit: Unit, job: Manifest, change: jobs.JobChange, result: CycleResult) -> bool:
        write = self.pool.submit(Priority.EVICT, partial(self._patch, unit, job, change))
        return self._outcome(_shown(self.state.jobs[unit.job]), write, result)

    def _patch(self, unit: Unit, job: Manifest, change: jobs.JobChange) -> Manifest:
        kind, key = self.state.jobs[unit.job]
        return self.cluster.merge(kind, *key, change.patch(job))

    @staticmethod
    def _outcome(name: str, write: Future[Manifest], result: CycleResult) -> bool:
        """Return whether a write succeeded, and record why it did not. Raises `NotLeader`."""
        try:
            write.result()
        except (Refused, Unreachable) as failed:
            result.refused.append(f"{name}: {failed}")
            return False
        return True

    def _remove_units(self) -> None:
        gone, self.state.gone = self.state.gone, []
        for uid in gone:
            self.reasons.forget(uid)
        ended, self.state.ended = self.state.ended, []
        for unit in ended:
            if self.cluster.get(UNIT, *unit) is not None:
                self.pool.note(("unit", *unit), partial(self.cluster.remove_unit, *unit))

    def _set_phase(self, unit: Unit, phase: str, message: str) -> None:
        """Write the status of a QueueUnit, if it is not the same."""
        made = self.cluster.get(UNIT, unit.namespace, unit.name)
        known: Mapping[str, object] = {} if made is None else made.get("status") or {}
        if (known.get("phase"), known.get("message")) == (phase, message):
            return
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        status = {"phase": phase, "message": message, "lastUpdateTime": at}
        key = unit.namespace, unit.name
        self.pool.note(("phase", *key), partial(self.cluster.set_phase, *key, status))

    def _report(self, key: ObjectKey, reason: str, why: str, *, is_warning: bool) -> None:
        """Record why a job waits, unless it was recorded."""
        job = self.cluster.get(key[0], *key[1])
        if job is not None and self.reasons.is_new(uid_of(job), f"{reason} {why}"):
            self._record(job, reason, why, is_warning=is_warning)

    def _record(self, job: Manifest, reason: str, message: str, *, is_warning: bool = False) -> None:
        record = partial(self.cluster.record, job, reason, message, is_warning=is_warning)
        self.pool.note((reason, uid_of(job)), record)

    def _job(self, number: int) -> Manifest | None:
        kind, key = self.state.jobs[number]
        return self.cluster.get(kind, *key)

    def _has_started(self, unit: Unit) -> bool:
        job = self._job(unit.job)
        return job is not None and read_job(job).has_started

    def _stamp(self, now: float) -> str:
        return stamp(self.started, max(0.0, now - self.started))


def _shown(key: ObjectKey) -> str:
    kind, (namespace, name) = key
    return f"{kind} {namespace}/{name}"
