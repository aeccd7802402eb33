"""One cycle of the live scheduler: groups pods, runs the cycle, and carries out the decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from apportion_api.kai.names import (
    DEFAULT_SCHEDULER,
    LAST_START_ANNOTATION,
    POD_GROUP_ANNOTATION,
    STALE_SINCE_ANNOTATION,
)
from apportion_runtime.admission.objects import annotations_of, labels_of
from apportion_runtime.core.cycle import run_actions
from apportion_runtime.core.decision_times import next_decision_time
from apportion_runtime.core.explain.pending import pending_jobs, pods_of_undefined_sub_groups
from apportion_runtime.core.job import Job
from apportion_runtime.core.session import Session
from apportion_runtime.kube.backoffs import Backoffs
from apportion_runtime.kube.bind_retries import BindRetries
from apportion_runtime.kube.cluster import Cluster, Key, Manifest
from apportion_runtime.kube.cluster_records import ClusterRecords
from apportion_runtime.kube.cycle_bindings import bind_decided, group_of
from apportion_runtime.kube.cycle_result import CycleResult, name_of
from apportion_runtime.kube.decision_log_writer import DecisionLogWriter
from apportion_runtime.kube.errors import NotLeader
from apportion_runtime.kube.gang_reservations import GangReservations
from apportion_runtime.kube.metrics import EXCLUDED, pending_kind, queue_gpus
from apportion_runtime.kube.pending_messages import pending_message
from apportion_runtime.kube.pending_reasons import PendingReasons
from apportion_runtime.kube.pod_grouping import GroupedPods, GroupingScope, Ungrouped, group_pods
from apportion_runtime.kube.reservation_cleanup import SharingScope, clean_reservations, evict_unreserved
from apportion_runtime.kube.resources import POD, POD_GROUP
from apportion_runtime.kube.shard_scope import shard_engine
from apportion_runtime.kube.status_updates import StatusUpdates
from apportion_runtime.kube.victim_evictions import ProtectedVictims, evict_victims
from apportion_runtime.kube.write_pool import WritePool
from apportion_runtime.snapshots.kubernetes.configuration import Engine
from apportion_runtime.snapshots.quantities import time_text

_REPEATED_S = 1.0
"""The time after which writes that were rejected temporarily are tried again."""
_FIRST_DELAY_S = 10.0
_LONGEST_DELAY_S = 300.0


@dataclass(frozen=True, slots=True)
class Rejections:
    """The rejections that are kept from cycle to cycle.

    Attributes:
        gangs: Pod groups that are not bound for a while, since a bind was rejected.
        victims: Jobs that are not evicted for a while, since an eviction was refused.
    """

    gangs: Backoffs[Key] = field(default_factory=lambda: Backoffs(_FIRST_DELAY_S, _LONGEST_DELAY_S))
    victims: ProtectedVictims = field(
        default_factory=lambda: ProtectedVictims(Backoffs(_FIRST_DELAY_S, _LONGEST_DELAY_S))
    )


@dataclass(frozen=True, slots=True)
class Scheduling:
    """The scope and the kept state of a scheduler.

    Attributes:
        cluster: The cluster.
        pool: The threads that write.
        scheduler: The `schedulerName` of its pods.
        shard: The SchedulingShard to schedule, if there is more than one.
        rejections: The writes that were rejected in earlier cycles.
        grouped: The pods that have their pod groups.
        reasons: The pending reasons of pods and pod groups, as reported by events.
        statuses: The status of pod groups and queues.
        records: The records of the cluster, and the session of the last cycle.
        retries: The binds that failed for now.
        reservations: The gangs that wait for shared devices; None if pods do not share devices.
        log: Records each cycle for replay, if there is one.
    """

    cluster: Cluster
    pool: WritePool
    scheduler: str = DEFAULT_SCHEDULER
    shard: str | None = None
    rejections: Rejections = field(default_factory=Rejections)
    grouped: GroupedPods = field(default_factory=GroupedPods)
    reasons: PendingReasons = field(default_factory=PendingReasons)
    statuses: StatusUpdates = field(default_factory=StatusUpdates)
    records: ClusterRecords = field(default_factory=ClusterRecords)
    retries: BindRetries = field(default_factory=BindRetries)
    reservations: GangReservations | None = None
    log: DecisionLogWriter | None = None


def run_cycle(scheduling: Scheduling, now: float) -> CycleResult:
    """Run one cycle on the current cluster, and carry out its decisions.

    Args:
        scheduling: The scope of the scheduler.
        now: The current time, in seconds since 1970.

    Raises:
        MissingShard: If the shard does not exist.
        NotLeader: If this scheduler lost its lease; the remaining writes are not sent.
    """
    try:
        return _run(scheduling, now)
    except BaseException as failed:
        if isinstance(failed, NotLeader):
            scheduling.retries.reset()
            if scheduling.reservations is not None:
                scheduling.reservations.reset()
        # The kept session may contain decisions of an interrupted cycle.
        scheduling.records.reset()
        raise


def _run(scheduling: Scheduling, now: float) -> CycleResult:
    result = CycleResult()
    engine = shard_engine(scheduling.cluster, scheduling.shard)
    scope = GroupingScope(scheduling.scheduler, engine)
    ungrouped = group_pods(scheduling.cluster, scheduling.pool, scope, scheduling.grouped, result)
    _show_pods(scheduling, ungrouped, result, engine=engine)
    session, result.faults = scheduling.records.open(now=now, shard=scheduling.shard)
    result.cluster_faults = scheduling.records.cluster_faults
    protected = scheduling.rejections.victims.delays.active()
    session.protect(protected)
    run_actions(session)
    if scheduling.log is not None:
        read = scheduling.records.objects.read
        scheduling.log.record(read, now=now, shard=scheduling.shard, protected=protected, session=session)
    _carry_out(scheduling, session, result, engine=engine)
    _note(scheduling, session, result)
    result.queues = queue_gpus(session)
    _write_statuses(scheduling, engine)
    scheduling.reasons.end_cycle()
    at = next_decision_time(session)
    if at is not None:
        result.next_cycle_s = min(result.next_cycle_s, at - session.now)
    result.next_attempt_s = min(_delays(scheduling, result))
    return result


def _carry_out(scheduling: Scheduling, session: Session, result: CycleResult, *, engine: Engine) -> None:
    """Bind and evict what the cycle has decided."""
    cluster, pool = scheduling.cluster, scheduling.pool
    retries, reservations = scheduling.retries, scheduling.reservations
    gangs, victims = scheduling.rejections.gangs, scheduling.rejections.victims
    if reservations is None:
        bind_decided(cluster, pool, session, result, rejected=gangs, retries=retries, reservations=None)
        evict_victims(cluster, pool, session, victims, result)
        return

    def is_own(pod: Manifest) -> bool:
        return pod["spec"].get("schedulerName") == scheduling.scheduler and _is_of_shard(cluster, engine, pod)

    scope = SharingScope(reservations, session, is_own)
    # The decisions regard these devices as free, but the kubelet only once their reservation pods are gone.
    blocked = clean_reservations(cluster, pool, scope, result)
    bind_decided(
        cluster, pool, session, result, rejected=gangs, retries=retries, reservations=reservations, blocked=blocked
    )
    withheld = reservations.withheld_from(session)
    for name in evict_victims(cluster, pool, session, victims, result, withheld=withheld):
        namespace, _, group = name.rpartition("/")
        why = f"no pods are evicted for the gang until a GPU reservation succeeds; the last attempt failed: {reservations.failure}"
        gangs.reject((namespace, group), why)
        # The victims may be evicted for another one.
        result.next_cycle_s = 0.0
    evict_unreserved(cluster, pool, scope, result)
    clean_reservations(cluster, pool, scope, result)


def _delays(scheduling: Scheduling, result: CycleResult) -> Iterator[float]:
    """Yield the remaining delays of what failed, at the end of the cycle."""
    yield result.next_attempt_s
    if result.refused or result.unreserved:
        yield _REPEATED_S
    waits = [scheduling.rejections.gangs.remaining_s(), scheduling.rejections.victims.delays.remaining_s()]
    if scheduling.reservations is not None:
        waits += [scheduling.reservations.remaining_s(), scheduling.reservations.check.remaining_s()]
    yield from (remaining_s for remaining_s in waits if remaining_s is not None)


def _show_pods(
    scheduling: Scheduling, ungrouped: Mapping[Key, Ungrouped], result: CycleResult, *, engine: Engine
) -> None:
    """Omit pods that cannot be bound, those of this shard with the reason; regard pods of held gangs as bound."""
    reservations, cluster, objects = scheduling.reservations, scheduling.cluster, scheduling.records.objects
    objects.follow(cluster.changes(objects))
    sharing_fault = None if reservations is None else partial(reservations.check.fault, cluster)
    bound = {**scheduling.retries.bound_pods(cluster)}
    if reservations is not None:
        bound |= reservations.bound_pods(objects.pods, objects.sharing.values(), engine.reservation_app)
    rejected = scheduling.rejections.gangs.active()
    excluded = {**objects.unbound.unsupported(objects.volumes, scheduling.scheduler, rejected, sharing_fault, bound)}
    for key, one in ungrouped.items():
        pod = objects.pods.get(key)
        # A bound pod uses its devices until it is deleted, also if garbage collection deletes its group first.
        is_bound = key in bound or (pod is not None and bool(pod["spec"].get("nodeName")))
        if pod is not None and pod["metadata"]["uid"] == one.uid and not is_bound:
            excluded[key] = one.why
    for key, why in excluded.items():
        if _is_of_shard(cluster, engine, objects.pods[key]):
            result.pending[EXCLUDED] += 1
            _wait(scheduling, objects.pods[key], why, result)
    objects.show({**bound, **dict.fromkeys(excluded)})


def _is_of_shard(cluster: Cluster, engine: Engine, pod: Manifest) -> bool:
    name = annotations_of(pod).get(POD_GROUP_ANNOTATION, "")
    group = cluster.get(POD_GROUP, pod["metadata"]["namespace"], name)
    return engine.is_of_pool(labels_of(group or pod))


def _note(scheduling: Scheduling, session: Session, result: CycleResult) -> None:
    """Write the engine's annotations to pod groups, and the pending reasons to pods."""
    for job in session.jobs_of_cycle():
        _keep_times(scheduling, job)
    refusals = scheduling.rejections.victims.refusals()
    for pending in pending_jobs(session):
        job = session.jobs[pending.job]
        misplaced = pods_of_undefined_sub_groups(session, job)
        result.pending[pending_kind(pending)] += pending.n_pending + sum(pod.node is None for pod in misplaced)
        key = group_of(job)
        why = pending_message(pending, scheduling.records.queue_faults, refusals.get("/".join(key)))
        group = scheduling.cluster.get(POD_GROUP, *key)
        if why and group is not None:
            _report(scheduling, group, why, is_warning=False)
        for waiting in (*(task.pod for task in job.tasks.values()), *misplaced):
            pod = scheduling.cluster.get(POD, waiting.namespace, waiting.name)
            if why and pod is not None and not pod["spec"].get("nodeName") and not _is_held(scheduling, waiting.uid):
                _wait(scheduling, pod, why, result)


def _is_held(scheduling: Scheduling, pod: str) -> bool:
    reservations = scheduling.reservations
    return scheduling.retries.holds(pod) or (reservations is not None and reservations.holds(pod))


def _keep_times(scheduling: Scheduling, job: Job) -> None:
    group = job.group
    wanted = {
        LAST_START_ANNOTATION: (group.last_start, job.last_start),
        STALE_SINCE_ANNOTATION: (group.stale_since, job.stale_since),
    }
    changed = {key: at if at is None else time_text(at) for key, (was, at) in wanted.items() if was != at}
    if not changed:
        return
    patch = {"metadata": {"annotations": changed}}
    # The next cycle reads them: they decide about minimum runtimes and stale gangs.
    scheduling.pool.note(("times", job.uid), partial(scheduling.cluster.merge, POD_GROUP, *group_of(job), patch))


def _wait(scheduling: Scheduling, pod: Manifest, why: str, result: CycleResult) -> None:
    result.waiting.append(name_of(pod))
    scheduling.pool.note(("wait", pod["metadata"]["uid"]), partial(scheduling.cluster.wait, pod, why))
    _report(scheduling, pod, why, is_warning=True)


def _report(scheduling: Scheduling, about: Manifest, why: str, *, is_warning: bool) -> None:
    """Record why an object is pending, as an event with KAI's type and reason, unless it was already recorded."""
    uid = about["metadata"].get("uid", "")
    if scheduling.reasons.is_new(uid, why):
        record = partial(scheduling.cluster.record, about, "Unschedulable", why, is_warning=is_warning)
        scheduling.pool.note(("pending", uid), record)


def _write_statuses(scheduling: Scheduling, engine: Engine) -> None:
    for update in scheduling.statuses.of(scheduling.cluster.changes(scheduling.statuses)):
        key = (update.kind, update.namespace, update.name)
        about = scheduling.cluster.get(*key)
        if about is not None and engine.is_of_pool(labels_of(about)):
            scheduling.pool.note(("status", *key), partial(scheduling.cluster.merge_status, *key, update.status))
