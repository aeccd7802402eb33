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
from apportion_api.counted_nouns import counted
from apportion_runtime.admission.expansion import is_suspended
from apportion_runtime.admission.objects import Manifest, annotations_of, nested, uid_of
from apportion_runtime.kube.admission_state import AdmissionState
from apportion_runtime.kube.backoffs import Backoffs
from apportion_runtime.kube.cluster import ObjectKey
from apportion_runtime.kube.cycle_result import CycleResult
from apportion_runtime.kube.errors import Refused, Rejection, Unreachable
from apportion_runtime.kube.job_cluster import JobCluster
from apportion_runtime.kube.job_resources import JOB, QUEUE, RAY_JOB, UNIT
from apportion_runtime.kube.log import Decision
from apportion_runtime.kube.pending_reasons import PendingReasons
from apportion_runtime.kube.write_pool import Priority, WritePool
from apportion_runtime.kube_queue import jobs
from apportion_runtime.kube_queue.job_queue import Unit
from apportion_runtime.kube_queue.job_queues import Dequeued, JobQueues
from apportion_runtime.kube_queue.job_queues import Refused as QuotaRefusal
from apportion_runtime.kube_queue.queue_units import unit_object, unit_patch
from apportion_runtime.kube_queue.timestamps import stamp
from apportion_runtime.snapshots.faults import UNREADABLE, Fault

_DEQUEUED = "Dequeued because schedule successfully"
"""kube-queue's message."""
_RUNNING = "Running"
"""kube-queue's phase of jobs whose pods have started."""
_REPEATED_S = 1.0
"""The time after which a release without a response is repeated."""
_LONGEST_S = 300.0
"""The longest time after which rejected writes are tried again; the first is `_REPEATED_S`."""


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
    rejected: Backoffs[tuple[str, int]] = field(default_factory=lambda: Backoffs(_REPEATED_S, _LONGEST_S))
    """Rejected writes of the queueing and the suspension of jobs."""
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
        result.faults = (*configuration.faults, *self._uncounted())
        self._remove_units()
        for key, why in state.refused.items():
            self._report(key, "NotQueued", why, is_warning=True)
        if state.queues is None:
            return result
        self._create_queues(configuration.missing, result)
        self._write_enqueued(state.queues, result, now)
        self._report_followed(state.queues, now)
        self._requeue_overdue(state.queues, result, now)
        decisions = list(state.queues.run(now))
        for decision in decisions:
            if isinstance(decision, QuotaRefusal):
                self._wait(state.queues, decision, now)
        dequeued = [one for one in decisions if isinstance(one, Dequeued)]
        self._release(state.queues, [*self._unconfirmed(state.queues, result), *dequeued], result, now)
        result.queued_jobs = Counter({queue.settings.name: len(queue.units) for queue in state.queues.queues.values()})
        result.next_cycle_s = min(result.next_cycle_s, *(at - now for at in self._moments(state.queues)))
        remaining_s = self.rejected.remaining_s()
        if remaining_s is not None:
            result.next_attempt_s = min(result.next_attempt_s, remaining_s)
        return result

    def _uncounted(self) -> Iterator[Fault]:
        for why, n_jobs in Counter(self.state.uncounted.values()).items():
            first = next(key for key, one in self.state.uncounted.items() if one == why)
            others = "" if n_jobs == 1 else f" and {counted(n_jobs - 1, 'other')}"
            yield Fault(
                UNREADABLE, f"{_shown(first)}{others}", f"released, but not counted against any quota: {why}", ""
            )

    def _moments(self, queues: JobQueues) -> Iterator[float]:
        yield self.state.next_end()
        wakes_at = queues.wakes_at()
        if wakes_at is not None:
            yield wakes_at
        if self.requeue_s is not None:
            waits = self.rejected.active()
            yield from (
                held.since + self.requeue_s
                for number, held in queues.held.items()
                if number not in self.state.started and ("suspend", number) not in waits
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
        state, waits = self.state, self.rejected.active()
        due = [number for number in state.unwritten if ("enqueue", number) not in waits]
        annotated: list[tuple[int, Future[Manifest]]] = []
        created: list[tuple[int, Future[Manifest]]] = []
        updated: list[tuple[int, Future[Manifest]]] = []
        for number in due:
            del state.unwritten[number]
            queue, job = queues.queue_of(number), state.manifests[number]
            if queue is None:
                continue
            unit, (kind, key) = queue.units[number], state.jobs[number]
            if ENQUEUED_AT_ANNOTATION not in annotations_of(job):
                patch = jobs.enqueueing(self._stamp(now)).patch(job)
                write = partial(self.cluster.merge, kind, *key, patch)
                annotated.append((number, self.pool.submit(Priority.GROUP, write)))
            made = self.cluster.get(UNIT, unit.namespace, unit.name)
            if made is None:
                made = unit_object(job, unit, queue.settings.name)
                created.append((number, self.pool.submit(Priority.GROUP, partial(self.cluster.create, made))))
            elif (change := unit_patch(made, unit, queue.settings.name)) is not None:
                write = partial(self.cluster.merge, UNIT, unit.namespace, unit.name, change)
                updated.append((number, self.pool.submit(Priority.GROUP, write)))
        for number, annotation in annotated:
            if self._outcome(_shown(state.jobs[number]), annotation, result):
                # Nothing else has changed: the patch was of this version.
                state.manifests[number] = annotation.result()
            else:
                state.unwritten[number] = None
        for number, creation in created:
            if self._outcome(_shown(state.jobs[number]), creation, result):
                queue = queues.queue_of(number)
                assert queue is not None
                self._record(state.manifests[number], "Enqueued", queues.place(queue.units[number], now))
            else:
                state.unwritten[number] = None
        for number, update in updated:
            if not self._outcome(_shown(state.jobs[number]), update, result):
                state.unwritten[number] = None
        for number in due:
            if number in state.unwritten:
                self.rejected.reject(("enqueue", number), "")

    def _report_followed(self, queues: JobQueues, now: float) -> None:
        """Write what became of released jobs, also of those that another client has released or suspended."""
        state = self.state
        followed, state.followed = state.followed, {}
        for number in followed:
            held = queues.held.get(number)
            if held is None:
                continue
            made = self.cluster.get(UNIT, held.unit.namespace, held.unit.name)
            if made is None:
                continue
            if nested(made, "status", "phase") == _RUNNING:
                state.started[number] = None
            elif number in state.started:
                self._set_phase(held.unit, _RUNNING, _RUNNING)
            else:
                self._set_phase(held.unit, "Dequeued", _DEQUEUED)
        resuspended, state.resuspended = state.resuspended, {}
        for number, why in resuspended.items():
            queue = queues.queue_of(number)
            if queue is not None:
                unit = queue.units[number]
                self._set_phase(unit, "Backoff", why)
                self._record(state.manifests[number], "Requeued", f"{why}; {queues.place(unit, now)}")

    def _requeue_overdue(self, queues: JobQueues, result: CycleResult, now: float) -> None:
        """Suspend the jobs whose pods did not start in time, and return them to their queues."""
        if self.requeue_s is None:
            return
        waits = self.rejected.active()
        overdue = [
            held.unit
            for number, held in queues.held.items()
            if held.since + self.requeue_s <= now
            and number not in self.state.started
            and ("suspend", number) not in waits
        ]
        for unit in overdue:
            job = self.state.manifests[unit.job]
            if not self._suspend(unit, job, result):
                self.rejected.reject(("suspend", unit.job), "")
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

    def _unconfirmed(self, queues: JobQueues, result: CycleResult) -> Iterator[Dequeued]:
        """Yield the dequeued jobs whose release must be repeated; the watch may have reported it meanwhile."""
        unconfirmed, self.state.unconfirmed = self.state.unconfirmed, {}
        for number, one in unconfirmed.items():
            if number not in queues.held:
                continue
            if is_suspended(self.state.manifests[number]):
                yield one
            else:
                self._released(one, result)

    def _release(self, queues: JobQueues, dequeued: Sequence[Dequeued], result: CycleResult, now: float) -> None:
        writes = [self.pool.submit(Priority.BIND, partial(self._resume, one.unit.job, now)) for one in dequeued]
        for one, write in zip(dequeued, writes, strict=True):
            number = one.unit.job
            key = self.state.jobs[number]
            try:
                self.state.manifests[number] = write.result()
            except Unreachable as failed:
                # It may be released, so it holds its quota until this is known.
                result.refused.append(f"{_shown(key)}: {failed}")
                self.state.unconfirmed[number] = one
                result.next_attempt_s = min(result.next_attempt_s, _REPEATED_S)
            except Refused as refused:
                _note(_shown(key), refused, result)
                self._keep(queues, one, refused, now)
            else:
                self._released(one, result)

    def _resume(self, number: int, now: float) -> Manifest:
        (kind, key), job = self.state.jobs[number], self.state.manifests[number]
        return self.cluster.release(kind, *key, jobs.resumption(job, self._stamp(now)).patch(job))

    def _keep(self, queues: JobQueues, one: Dequeued, refused: Refused, now: float) -> None:
        """Return a job that was not released to its queue."""
        number = one.unit.job
        if refused.rejection is Rejection.CONFLICT:
            # It has changed, and is decided on again in its turn.
            queues.withdraw(number, now)
            return
        unit = queues.requeue(number, now).unit
        why = f"the API server rejected the release: {refused}"
        self._set_phase(unit, "Backoff", why)
        self._report(self.state.jobs[number], "ReleaseRejected", why, is_warning=True)

    def _released(self, one: Dequeued, result: CycleResult) -> None:
        key, unit, job = self.state.jobs[one.unit.job], one.unit, self.state.manifests[one.unit.job]
        self.reasons.forget(uid_of(job))
        self._set_phase(unit, "Dequeued", _DEQUEUED)
        self._record(job, "Dequeued", f"from queue {one.queue.name}")
        result.n_released += 1
        line = f"dequeued {_shown(key)} from queue {one.queue.name} (quota {unit.quota})"
        result.decisions.append(
            Decision(line, decision="dequeue", job=_shown(key), queue=one.queue.name, quota=unit.quota)
        )

    def _suspend(self, unit: Unit, job: Manifest, result: CycleResult) -> bool:
        kind, key = self.state.jobs[unit.job]
        write = partial(self.cluster.merge, kind, *key, jobs.suspension(job).patch(job))
        return self._outcome(_shown((kind, key)), self.pool.submit(Priority.EVICT, write), result)

    @staticmethod
    def _outcome(name: str, write: Future[Manifest], result: CycleResult) -> bool:
        """Return whether a write succeeded, and record why it did not. Raises `NotLeader`."""
        try:
            write.result()
        except (Refused, Unreachable) as failed:
            _note(name, failed, result)
            return False
        return True

    def _remove_units(self) -> None:
        gone, self.state.gone = self.state.gone, []
        for uid in gone:
            self.reasons.forget(uid)
        ended, self.state.ended = self.state.ended, []
        for unit in ended:
            made = self.cluster.get(UNIT, *unit)
            if made is not None:
                self.pool.note(("unit", *unit), partial(self.cluster.remove_unit, made))

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

    def _stamp(self, now: float) -> str:
        return stamp(self.started, max(0.0, now - self.started))


def _note(name: str, failed: Refused | Unreachable, result: CycleResult) -> None:
    """Record why a write failed, unless its object has changed: controllers write jobs as well, and it is repeated."""
    if not (isinstance(failed, Refused) and failed.rejection is Rejection.CONFLICT):
        result.refused.append(f"{name}: {failed}")


def _shown(key: ObjectKey) -> str:
    kind, (namespace, name) = key
    return f"{kind} {namespace}/{name}"
