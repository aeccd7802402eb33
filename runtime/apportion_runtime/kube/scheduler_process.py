"""The process of the live scheduler: runs cycles while it holds the lease and something changes."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import Protocol

from apportion_runtime.kube.api_writer import ApiWriter, SingleScheduler
from apportion_runtime.kube.cluster import Cluster
from apportion_runtime.kube.configuration import ACK, SchedulerConfiguration
from apportion_runtime.kube.configuration_file import ConfigurationFile
from apportion_runtime.kube.connection import N_WRITERS, Connection
from apportion_runtime.kube.cycle_result import CycleResult
from apportion_runtime.kube.decision_log_writer import DecisionLogWriter
from apportion_runtime.kube.definitions import check_admission_definitions, check_definitions
from apportion_runtime.kube.dry_run import DryRunCluster
from apportion_runtime.kube.errors import MissingShard, NotLeader, Refused, Unreachable
from apportion_runtime.kube.gang_reservations import GangReservations
from apportion_runtime.kube.garbage_collection import collected_between_cycles
from apportion_runtime.kube.gpu_reservation import ReservationSettings
from apportion_runtime.kube.http_server import Counters
from apportion_runtime.kube.job_admission import JobAdmission
from apportion_runtime.kube.job_cluster import DryRunJobCluster, JobCluster, LiveJobCluster
from apportion_runtime.kube.job_resources import ADMISSION_KINDS
from apportion_runtime.kube.leader_election import LeaderElection
from apportion_runtime.kube.live_cluster import LiveCluster
from apportion_runtime.kube.log import Decision, Log, shutdown_line
from apportion_runtime.kube.metrics import ClusterState
from apportion_runtime.kube.object_cache import ObjectCache
from apportion_runtime.kube.resources import POD, POD_GROUP, WATCHED
from apportion_runtime.kube.scheduler import Scheduling, run_cycle
from apportion_runtime.kube.write_pool import WritePool
from apportion_runtime.snapshots.faults import Fault

_LISTED_S = 60.0
_NOT_STARTED = "the initial list of cluster objects was not complete"
_POLL_S = 0.05
_SHORTEST_REST_S = 0.05
_SHARE_OF_CYCLES = 0.5
"""The part of a core that cycles may take before changes wait for each other, up to the period."""
_MOST_RECEIVED = 200
"""The events after which a cycle reads what they changed, although they change no decision: a later one need not."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the process.

    Attributes:
        scheduler: The `schedulerName` of its pods.
        shard: Its SchedulingShard, if there is more than one.
        period_s: The maximum time for which a change waits after the start of the last cycle, unless that still runs.
        idle_s: The maximum time between two cycles. A cycle runs earlier if something changed, or if the passage of
            time may change decisions.
        n_writers: The maximum number of parallel writes.
        is_json_log: Whether the lines of the log are JSON objects.
        reservation: The settings of reservation pods; None if pods do not share devices.
        is_dry_run: Whether decisions are only reported. Nothing is written then, including the lease.
        releases_jobs: Whether it enforces ACK's objects, by releasing suspended jobs, instead of KAI's.
        requeue_s: The time within which the pods of a released job must start; None if they need not.
    """

    scheduler: str
    shard: str | None = None
    period_s: float = 1.0
    idle_s: float = 60.0
    is_dry_run: bool = False
    n_writers: int = N_WRITERS
    is_json_log: bool = False
    reservation: ReservationSettings | None = None
    releases_jobs: bool = False
    requeue_s: float | None = None


def options_of(configuration: SchedulerConfiguration) -> Options:
    """Return the options that a configuration sets."""
    return Options(
        configuration.scheduler_name,
        configuration.shard,
        configuration.cycle_period_s,
        configuration.idle_period_s,
        configuration.dry_run,
        configuration.write_concurrency,
        configuration.log_format == "json",
        _reservation(configuration),
        configuration.engine == ACK,
        configuration.requeue_s,
    )


def _reservation(configuration: SchedulerConfiguration) -> ReservationSettings | None:
    if configuration.reservation_image is None:
        return None
    return ReservationSettings(
        configuration.reservation_image,
        configuration.reservation_namespace,
        configuration.reservation_service_account,
        configuration.reservation_runtime_class,
        configuration.reservation_timeout_s,
        configuration.reservation_uses_cdi,
    )


def run(
    connection: Connection,
    options: Options,
    election: LeaderElection | None,
    counters: Counters,
    *,
    say: Callable[[str], None],
    ended: Event,
    file: ConfigurationFile | None = None,
    decisions: DecisionLogWriter | None = None,
    ended_by: Callable[[], str] = lambda: "a request",
) -> None:
    """Schedule until `ended` is set.

    Args:
        connection: The API server.
        options: The options.
        election: The candidate for the lease that must be held; None for a single scheduler.
        counters: Receives the counts.
        say: Writes a line to the log.
        ended: Set by the caller to stop.
        file: The configuration file that the process follows, if there is one.
        decisions: Records the cycles for replay, if they are.
        ended_by: Returns who has set `ended`, for the log.

    Raises:
        MissingDefinitions: If the API server lacks definitions of the engine's objects.
        Unreachable: If the API server does not respond at startup.
    """
    log = Log(say, is_json=options.is_json_log)
    connection.on_error = counters.metrics.count_api_error
    if not connection.is_verified:
        log.warning("the kubeconfig disables verification of the API server's certificate (insecure-skip-tls-verify)")
    check = check_admission_definitions if options.releases_jobs else check_definitions
    check(connection)
    kinds = ADMISSION_KINDS if options.releases_jobs else WATCHED
    cache = ObjectCache(connection, kinds, on_fault=log.warning, on_recovery=log.recovery)
    counters.fault = lambda: cache.list_faults.summary
    cache.start(_LISTED_S, ended)
    if ended.is_set():
        cache.stop()
        log.decision(shutdown_line(ended_by(), _NOT_STARTED))
        return
    counters.is_ready = True
    log.decision("initial list of cluster objects complete")
    writer = ApiWriter(connection, SingleScheduler() if election is None else election, ended=ended)
    pool = WritePool(options.n_writers, lambda failed: log.warning(f"write rejected: {failed}"))
    cycles = _cycles(options, cache, writer, pool, decisions)
    loop = _Loop(cache, pool, cycles, options, election, counters, log, ended, file=file)
    if election is not None:
        election.start()
    why = "an internal error"
    try:
        with collected_between_cycles() as loop.collect:
            loop.run()
        why = ended_by()
    finally:
        cache.stop()
        n_dropped = pool.drop_notes()
        pool.stop()
        # The lease is released when no write can follow.
        lease = None if election is None else (election.lease, election.stop())
        log.decision(shutdown_line(why, loop.last_cycle, n_cycles=loop.n_cycles, n_dropped=n_dropped, lease=lease))


def _cycles(
    options: Options, cache: ObjectCache, writer: ApiWriter, pool: WritePool, decisions: DecisionLogWriter | None
) -> Cycles:
    """Return the cycles of the engine whose objects are enforced."""
    if options.releases_jobs:
        jobs: JobCluster = DryRunJobCluster(cache) if options.is_dry_run else LiveJobCluster(cache, writer)
        return JobAdmission(jobs, pool, time.time(), options.requeue_s)
    cluster: Cluster = DryRunCluster(cache) if options.is_dry_run else LiveCluster(cache, writer)
    reservations = None if options.reservation is None else GangReservations(options.reservation)
    return PodScheduling(
        Scheduling(cluster, pool, options.scheduler, options.shard, reservations=reservations, log=decisions)
    )


class Cycles(Protocol):
    """The cycles that a process repeats while it leads."""

    @property
    def written(self) -> Sequence[str]:
        """The kinds of objects that it writes and reads."""

    def take_over(self) -> None:
        """Discard state that another process may have changed: this process became the leader."""

    def run(self, now: float) -> CycleResult:
        """Run a cycle at a time in seconds since 1970. Raises `NotLeader`, `Refused`, `Unreachable`, `MissingShard`."""


@dataclass(frozen=True, slots=True)
class PodScheduling:
    """The cycles of KAI's objects."""

    scheduling: Scheduling
    written: Sequence[str] = (POD, POD_GROUP)

    def take_over(self) -> None:
        if self.scheduling.reservations is not None:
            # The former leader has deleted their reservation pods, or bound them.
            self.scheduling.reservations.reset()

    def run(self, now: float) -> CycleResult:
        result = run_cycle(self.scheduling, now)
        recorder = self.scheduling.log
        result.log_fault = None if recorder is None else recorder.fault
        return result


@dataclass(slots=True)
class _Loop:
    cache: ObjectCache
    pool: WritePool
    cycles: Cycles
    options: Options
    election: LeaderElection | None
    counters: Counters
    log: Log
    ended: Event
    file: ConfigurationFile | None
    collect: Callable[[float], None] = lambda idle_s: None
    earliest_s: float = -math.inf
    next_cycle_s: float = -math.inf
    ended_s: float = -math.inf
    n_received: int = 0
    decisions: frozenset[str] = frozenset()
    waits_for: str | None = None
    n_cycles: int = 0
    last_cycle: str = "no cycle has run"
    cluster_faults: tuple[Fault, ...] = ()

    def run(self) -> None:
        while not self.ended.is_set():
            now_s = time.monotonic()
            self.counters.alive_at = now_s
            self._reload()
            self._lead()
            if not self._is_due(now_s):
                continue
            self.next_cycle_s = now_s + self.options.idle_s
            self.earliest_s = now_s + self.options.period_s
            self.cache.changed.clear()
            self.n_received = self.cache.n_received
            cpu_s = time.thread_time()
            self.n_cycles += 1
            try:
                self._cycle()
                self.last_cycle = "the last cycle and its writes are complete"
                rest_s = max((time.thread_time() - cpu_s) / _SHARE_OF_CYCLES, _SHORTEST_REST_S)
                self.earliest_s = now_s + min(rest_s, self.options.period_s)
            except NotLeader:
                # The next leader decides again.
                self.last_cycle = "the last cycle was abandoned, since the lease was lost"
                self.pool.drop_notes()
                self._lead()
            except MissingShard as missing:
                # Its creation starts the next cycle.
                self.last_cycle = f"nothing was scheduled: {missing}"
                self.log.warning(f"nothing is scheduled: {missing}")
            except (Refused, Unreachable) as failed:
                self.last_cycle = f"the last cycle failed: {failed}"
                self.log.warning(f"cycle failed: {failed}")
                # The change has not been handled yet.
                self.cache.changed.set()
            finally:
                self.collect(0.0)
                self.ended_s = time.monotonic()

    def _is_due(self, now_s: float) -> bool:
        """Return whether a cycle may start; if not, wait for a moment, or until something changes."""
        if not self.counters.is_leader or now_s < self.earliest_s:
            remaining_s = max(self.earliest_s - now_s, 0.0)
            self.ended.wait(min(remaining_s, _POLL_S) if self.counters.is_leader else _POLL_S)
            return False
        if self.cache.list_faults.lacks_definitions:
            # Without them, no pod belongs to a group or a queue, and the writes for each pod would be rejected.
            self.ended.wait(_POLL_S)
            return False
        if now_s >= self.next_cycle_s or self.cache.changed.is_set():
            return True
        if self.cache.n_received - self.n_received >= _MOST_RECEIVED:
            return True
        if not self.cache.changed.wait(_POLL_S):
            self.collect(time.monotonic() - self.ended_s)
        return False

    def _cycle(self) -> None:
        began_s = time.monotonic()
        self.cache.verify()
        now, now_s = time.time(), time.monotonic()
        result = self.cycles.run(now)
        self.next_cycle_s = min(
            self.next_cycle_s, now_s + result.next_cycle_s, time.monotonic() + result.next_attempt_s
        )
        counters = self.counters
        metrics = counters.metrics
        metrics.cycle_duration.observe(time.monotonic() - began_s)
        metrics.count_writes(
            latencies_s=result.latencies_s,
            evictions=Counter(result.actions),
            n_rejected=len(result.refused),
            n_released=result.n_released,
        )
        metrics.count_unreserved(Counter(failure.cause for failure in result.unreserved))
        metrics.show(ClusterState(result.queues, result.pending, result.queued_jobs))
        self._report(result.decisions)
        if result.log_fault is not None:
            self.log.warning(f"cannot write the decision log: {result.log_fault}")
        for refused in result.refused:
            self.log.warning(f"write rejected: {refused}")
        for failure in result.unreserved:
            self.log.warning(f"GPU reservation failed: {failure.why}")
        for fault in result.faults:
            self.log.warning(f"{fault.address}: {fault.message}")
        self._report_cluster_faults(result.cluster_faults)

    def _report_cluster_faults(self, faults: tuple[Fault, ...]) -> None:
        """Report each fault of cluster-wide objects once when it appears, and once when it is gone."""
        former, self.cluster_faults = self.cluster_faults, faults
        if faults is former:
            return
        known, current = dict.fromkeys(map(_told, former)), dict.fromkeys(map(_told, faults))
        for line in current:
            if line not in known:
                self.log.warning(line)
        for line in known:
            if line not in current:
                self.log.recovery(f"resolved: {line}", (line,))

    def _reload(self) -> None:
        """Apply the settings of the configuration file that may change while the process runs."""
        if self.file is None:
            return
        current = self.file.reload(self.log.warning, self.log.decision)
        self.options = replace(self.options, period_s=current.cycle_period_s, idle_s=current.idle_period_s)

    def _report(self, decisions: list[Decision]) -> None:
        former, self.decisions = self.decisions, frozenset(decisions)
        for line in decisions:
            if not self.options.is_dry_run:
                self.log.decision(line)
            elif line not in former:
                # Since nothing is carried out, the next cycle decides the same.
                self.log.decision(Decision(f"dry run: {line}", **line.fields, dryRun=True))

    def _lead(self) -> None:
        was = self.counters.is_leader
        is_leader = self.election is None or self.election.is_leader
        if is_leader and not was and self.election is not None:
            try:
                # The former leader may have written what the watches have not delivered yet.
                self.cache.resync(self.cycles.written, _LISTED_S, self.ended)
            except Unreachable as failed:
                self.log.warning(f"cannot become the leader: {failed}")
                return
            if self.ended.is_set():
                return
            self.cycles.take_over()
        self.counters.is_leader = is_leader
        self.counters.metrics.leader.set(is_leader)
        if not is_leader:
            self.counters.metrics.show(None)
        if is_leader != was and self.election is not None:
            self.log.decision("became the leader" if is_leader else "lost leadership")
        former, self.waits_for = self.waits_for, None if self.election is None else self.election.other_holder
        if self.election is not None and self.waits_for not in (None, former):
            self.log.decision(f"waiting for lease {self.election.lease}, held by {self.waits_for}")
        fault = None if self.election is None else self.election.fault
        if fault is not None:
            self.log.warning(f"cannot acquire or renew the lease: {fault}")


def _told(fault: Fault) -> str:
    return f"{fault.address}: {fault.message}; {fault.hint}"
