"""Kueue's view of a cluster's objects: configuration, active queues, and workloads with reserved or requested quota."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_api.kubernetes.names import SCHEDULING_GROUP
from apportion_api.kueue.names import (
    CONFIGURATION,
    CONFIGURATION_GROUP,
    ELASTIC_ANNOTATION,
    GROUP,
    NOT_STOPPED,
    TOPOLOGY_PREFIX,
)
from apportion_api.kueue.objects import ClusterQueue, LocalQueue
from apportion_api.kueue.workloads import Workload
from apportion_api.objects import is_a, read_all
from apportion_api.objects import read as read_object
from apportion_compiler.plain_objects import Manifest, annotations_of, items, labels_of, mapping, name_of, text
from apportion_review.fates.workloads import of_group
from apportion_runtime.engines.kueue.object_reader import Configured, read
from apportion_runtime.engines.kueue.observed_workloads import holder_of, pending_of
from apportion_runtime.engines.kueue.quota_tree import Node
from apportion_runtime.engines.kueue.records import Holder, Pending, Queue
from apportion_runtime.snapshots.quantities import parse_time

_GROUPS = (GROUP, CONFIGURATION_GROUP)
_SYSTEM_CLASSES = "system-"
DRAINED = "HoldAndDrain"


@dataclass(frozen=True, slots=True)
class KueueCluster:
    """Kueue's view of a cluster.

    Attributes:
        configured: Queues, cohorts, flavors and the manager's configuration.
        has_configuration: Whether the manager's configuration is among the objects.
        queues: The ClusterQueues that are neither stopped nor terminating.
        scheduled: The active ones of them: Kueue ignores inactive ones and their workloads.
        stopped: The stop policy of each ClusterQueue that exists.
        stopped_local: The stop policy of each LocalQueue, by namespace and name.
        held: Workloads with reserved quota, by namespace and name.
        holders: Their quota, for those in `queues`.
        pending: Workloads that are pending in a queue of `scheduled`.
        undecided: Pending workloads with requests that the model does not support.
        namespaces: Labels of each namespace.
        highest_priority: The highest priority that a workload of this cluster can have; None if unknown.
    """

    configured: Configured
    has_configuration: bool
    queues: Mapping[str, Queue]
    scheduled: Mapping[str, Queue]
    stopped: Mapping[str, str]
    stopped_local: Mapping[tuple[str, str], str]
    held: Mapping[str, Workload]
    holders: Mapping[str, Holder]
    pending: tuple[Pending, ...]
    undecided: tuple[str, ...]
    namespaces: Mapping[str, Mapping[str, str]]
    highest_priority: int | None

    @property
    def admitted(self) -> dict[str, Workload]:
        """Running workloads, by namespace and name."""
        return {key: workload for key, workload in self.held.items() if workload.condition("Admitted") is not None}

    @property
    def cohorts(self) -> Sequence[Node]:
        """The Cohort objects."""
        return self.configured.rules.cohorts


def kueue_cluster(
    objects: Sequence[Manifest], now: float | None, known: dict[int, Workload] | None = None
) -> KueueCluster:
    """Read a cluster. Raises `ValueError` for an object that cannot be read.

    Args:
        objects: All its objects.
        now: Time of the cluster.
        known: Cache of parsed workloads, by the identity of their objects.
    """
    kueue = [each for each in objects if str(each.get("apiVersion") or "").rpartition("/")[0] in _GROUPS]
    by_kind: dict[str, list[Manifest]] = {}
    for made in kueue:
        by_kind.setdefault(str(made.get("kind")), []).append(made)
    configured = read(lambda kind: by_kind.get(kind, ()))
    terminating = {name_of(m) for m in by_kind.get("ClusterQueue", ()) if text(m, "metadata", "deletionTimestamp")}
    stopped = {queue.name: queue.stop_policy for queue in read_all(ClusterQueue, kueue)}
    queues = {
        name: queue
        for name, queue in configured.rules.queues.items()
        if stopped[name] == NOT_STOPPED and name not in terminating
    }
    # A missing flavor or check may be missing only from the export.
    scheduled = {name: queue for name, queue in queues.items() if not queue.inactive_because}
    workloads = [w for w in _workloads(kueue, {} if known is None else known) if w.condition("Finished") is None]
    for workload in workloads:
        if workload.faults:
            raise ValueError(f"{workload}: {workload.faults[0]}")
    held = [w for w in workloads if w.admission is not None and w.condition("QuotaReserved") is not None]
    waiting = [w for w in workloads if w.admission is None and w.active is not False]
    pending, undecided = _pending(waiting, configured, scheduled, now)
    return KueueCluster(
        configured,
        CONFIGURATION in by_kind,
        queues,
        scheduled,
        stopped,
        {(queue.namespace, queue.name): queue.stop_policy for queue in read_all(LocalQueue, kueue)},
        {w.key: w for w in held},
        {w.key: h for w in held if (h := holder_of(w, configured)).queue in queues},
        pending,
        undecided,
        {name_of(m): labels_of(m) for m in of_group(objects, "", "Namespace")},
        _highest_priority(objects, workloads),
    )


def _workloads(kueue: Sequence[Manifest], known: dict[int, Workload]) -> list[Workload]:
    """Return the Workloads among objects, which are the same objects under both policies."""
    unread = [each for each in kueue if id(each) not in known and is_a(Workload, each)]
    known.update(zip(map(id, unread), (read_object(Workload, each) for each in unread), strict=True))
    return [known[id(each)] for each in kueue if id(each) in known]


def _highest_priority(objects: Sequence[Manifest], workloads: Sequence[Workload]) -> int | None:
    classes = [
        *of_group(objects, SCHEDULING_GROUP, "PriorityClass"),
        *of_group(objects, GROUP, "WorkloadPriorityClass"),
    ]
    values = [each.get("value") for each in classes if not name_of(each).startswith(_SYSTEM_CLASSES)]
    if not values:
        return None
    known = [value for value in values if isinstance(value, int)]
    return max((*known, 0, *(workload.priority or 0 for workload in workloads)))


def _pending(
    waiting: Sequence[Workload], configured: Configured, queues: Mapping[str, Queue], now: float | None
) -> tuple[tuple[Pending, ...], tuple[str, ...]]:
    found: list[Pending] = []
    undecided: list[str] = []
    for workload in waiting:
        queue = configured.local_queues.get((workload.namespace, workload.local_queue), "")
        backs_off = workload.requeue_at is not None and now is not None and parse_time(workload.requeue_at) > now
        if queue not in queues or backs_off:
            continue
        if any(_unplaceable(workload)):
            undecided.append(workload.key)
        else:
            found.append(pending_of(workload, queue, configured))
    return tuple(found), tuple(undecided)


def _unplaceable(workload: Workload) -> Iterator[bool]:
    """Yield whether each kind of request is present that the simulated scheduler does not support."""
    yield workload.annotations.get(ELASTIC_ANNOTATION) == "true"
    for each in workload.pod_sets:
        yield bool(each.topology_request)
        yield any(key.startswith(TOPOLOGY_PREFIX) for key in annotations_of(each.template))
        yield bool(items(mapping(each.template, "spec"), "resourceClaims"))
