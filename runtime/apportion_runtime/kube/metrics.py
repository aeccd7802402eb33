"""Prometheus metrics of the scheduler; docs/live-scheduler.md lists each of them."""

from __future__ import annotations

import platform
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import get_args

from prometheus_client import CollectorRegistry, Gauge, Histogram, ProcessCollector
from prometheus_client import Counter as CounterMetric
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from apportion_runtime.core.explain.pending import PendingJob
from apportion_runtime.core.explain.pending_reasons import PendingReason
from apportion_runtime.core.resources import GPU, UNLIMITED
from apportion_runtime.core.session import Session
from apportion_runtime.kube.gpu_reservation import CAUSES as RESERVATION_CAUSES

PREFIX = "apportion_scheduler"
_CYCLE_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_LATENCY_BUCKETS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400, 86400)
EVICTING_ACTIONS = ("preempt", "reclaim", "consolidation", "stalegangeviction", "rollback", "reservation-lost")
"""KAI's actions that evict, the rollback of a gang whose binding was rejected, and evictions of pods whose shared GPU is not
reserved any longer.
"""
EXCLUDED = "excluded"
"""The reason of pods that take no part in a cycle: they cannot be bound or grouped, or their gang was rejected."""
OTHER = "other"
"""The reason of pods for which the engine recorded only a fit error."""


def pending_kind(pending: PendingJob) -> str:
    """Return the kind of the first reason why a job is pending, as `over-limit`."""
    return _kind(type(pending.reasons[0])) if pending.reasons else OTHER


def _kind(reason: type) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", reason.__name__).lower()


PENDING_KINDS = (*(_kind(reason) for reason in get_args(PendingReason)), EXCLUDED, OTHER)


@dataclass(frozen=True, slots=True)
class QueueGpus:
    """GPUs of a queue in a cycle, including those of its child queues; a guarantee of None is unlimited."""

    name: str
    allocated: float
    fair_share: float
    guaranteed: float | None


def queue_gpus(session: Session) -> tuple[QueueGpus, ...]:
    """Return the GPUs of each queue at the end of a cycle, by name."""
    return tuple(
        QueueGpus(
            queue.name,
            queue.allocated[GPU],
            queue.fair[GPU],
            None if queue.deserved[GPU] == UNLIMITED else queue.deserved[GPU],
        )
        for _, queue in sorted(session.shares.queues.items())
    )


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The state of the cluster at the end of the last cycle.

    Attributes:
        queues: The GPUs of each queue.
        pending: The number of pending pods by kind of reason.
        queued_jobs: The number of jobs in each queue of ACK; None if jobs are not released.
    """

    queues: tuple[QueueGpus, ...] = ()
    pending: Mapping[str, int] = field(default_factory=dict)
    queued_jobs: Mapping[str, int] | None = None


class _StateCollector(Collector):
    """Gauges of the last cycle: replaced as a whole, so that a scrape never mixes two cycles."""

    def __init__(self) -> None:
        self.state: ClusterState | None = None

    def collect(self) -> Iterator[Metric]:
        pending = GaugeMetricFamily(f"{PREFIX}_pods_pending", "Pods left pending by the last cycle", labels=("reason",))
        allocated = GaugeMetricFamily(f"{PREFIX}_queue_gpus_allocated", "GPUs allocated to a queue", labels=("queue",))
        fair = GaugeMetricFamily(f"{PREFIX}_queue_gpus_fair_share", "Fair share of a queue, in GPUs", labels=("queue",))
        guaranteed = GaugeMetricFamily(
            f"{PREFIX}_queue_gpus_guaranteed", "GPUs guaranteed to a queue", labels=("queue",)
        )
        jobs = GaugeMetricFamily(f"{PREFIX}_jobs_queued", "Suspended jobs in a queue", labels=("queue",))
        if self.state is not None and self.state.queued_jobs is not None:
            for name, count in sorted(self.state.queued_jobs.items()):
                jobs.add_metric((name,), count)
        elif self.state is not None:
            for kind in PENDING_KINDS:
                pending.add_metric((kind,), self.state.pending.get(kind, 0))
            for queue in self.state.queues:
                allocated.add_metric((queue.name,), queue.allocated)
                fair.add_metric((queue.name,), queue.fair_share)
                if queue.guaranteed is not None:
                    guaranteed.add_metric((queue.name,), queue.guaranteed)
        yield from (pending, allocated, fair, guaranteed, jobs)


class Metrics:
    """The metrics of one scheduler in a separate registry; safe for use by several threads."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.cycle_duration = Histogram(
            f"{PREFIX}_cycle_duration_seconds",
            "Duration of a scheduling cycle",
            buckets=_CYCLE_BUCKETS,
            registry=registry,
        )
        self._bind_latency = Histogram(
            f"{PREFIX}_bind_latency_seconds",
            "Time from the creation of a pod to its binding",
            buckets=_LATENCY_BUCKETS,
            registry=registry,
        )
        self._evicted = CounterMetric(
            f"{PREFIX}_pods_evicted", "Pods evicted, by action", ("action",), registry=registry
        )
        for action in EVICTING_ACTIONS:
            self._evicted.labels(action)
        self._rejected = CounterMetric(
            f"{PREFIX}_writes_rejected", "Writes that failed after all attempts", registry=registry
        )
        self._unreserved = CounterMetric(
            f"{PREFIX}_gpu_reservations_failed", "Failed reservations of shared GPUs", ("cause",), registry=registry
        )
        for cause in RESERVATION_CAUSES:
            self._unreserved.labels(cause)
        self._released = CounterMetric(f"{PREFIX}_jobs_released", "Suspended jobs released", registry=registry)
        self._api_errors = CounterMetric(
            f"{PREFIX}_api_errors", "Failed requests to the API server", ("method", "code"), registry=registry
        )
        self.leader = Gauge(f"{PREFIX}_leader", "1 if this replica is the leader, 0 otherwise", registry=registry)
        build = Gauge(
            f"{PREFIX}_build_info", "Always 1, with the version as a label", ("version", "python"), registry=registry
        )
        build.labels(scheduler_version(), platform.python_version()).set(1)
        self._state = _StateCollector()
        registry.register(self._state)
        # Memory, CPU time and open files of the process.
        ProcessCollector(registry=registry)

    def count_api_error(self, method: str, code: str) -> None:
        """Count a request that failed; the code is the HTTP status, or `unreachable`."""
        self._api_errors.labels(method, code).inc()

    def count_writes(
        self, *, latencies_s: list[float], evictions: Counter[str], n_rejected: int, n_released: int = 0
    ) -> None:
        """Count the writes of a cycle."""
        for latency_s in latencies_s:
            self._bind_latency.observe(max(0.0, latency_s))
        for action, count in evictions.items():
            self._evicted.labels(action).inc(count)
        self._rejected.inc(n_rejected)
        self._released.inc(n_released)

    def count_unreserved(self, causes: Counter[str]) -> None:
        """Count the GPUs that could not be reserved in a cycle, by cause."""
        for cause, count in causes.items():
            self._unreserved.labels(cause).inc(count)

    def show(self, state: ClusterState | None) -> None:
        """Replace the gauges of the cluster's state; None removes them, since another scheduler leads."""
        self._state.state = state


def scheduler_version() -> str:
    """Return the version of this package."""
    try:
        return version("apportion")
    except PackageNotFoundError:
        return "unknown"
