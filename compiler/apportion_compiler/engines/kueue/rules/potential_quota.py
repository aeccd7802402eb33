"""The potential quota of a ClusterQueue on a flavor: its own quota and the maximum that it can borrow.

A workload that requests more than this on every flavor that it may use is never admitted, even if nothing else runs.
Kueue computes available quota level by level (pkg/cache/scheduler/resource_node.go, available and potentialAvailable).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from apportion_api.kueue.names import DEFAULT_QUEUE, MIN_PARALLELISM_ANNOTATION, QUEUE_LABEL
from apportion_api.kueue.objects import ClusterQueue, Cohort, LocalQueue, QuotaHolder, ResourceFlavor, ResourceGroup
from apportion_compiler.engine_rules.verdict import Verdict
from apportion_compiler.engine_rules.workload_rules.workload_context import Workload, WorkloadContext, template_field
from apportion_compiler.engines.kueue.rules.field_validation import quantity
from apportion_compiler.plain_objects import annotations_of, items, labels_of, mapping
from apportion_compiler.workload_shapes import PodSet

_ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class _Level:
    """The quota of a ClusterQueue or cohort, for one flavor and resource; None is unlimited."""

    nominal: Decimal
    borrowing: Decimal | None
    lending: Decimal | None


class _Tree:
    """The quotas of a cluster's cohorts."""

    def __init__(self, context: WorkloadContext) -> None:
        queues = {queue.name: queue for queue in context.read(ClusterQueue)}
        self._cohorts = {cohort.name: cohort for cohort in context.read(Cohort)}
        self._below: dict[str, list[QuotaHolder]] = {}
        for holder in (*queues.values(), *self._cohorts.values()):
            if holder.parent is not None:
                self._below.setdefault(holder.parent, []).append(holder)

    def most(self, queue: ClusterQueue, flavor: str, resource: str) -> Decimal:
        """Return the potential quota of a ClusterQueue."""
        level = _level(queue, flavor, resource)
        held, parent = level.nominal, queue.parent
        # Quota that a level does not lend adds to that of its parent, and each limit caps the sum so far.
        kept, most, seen = _ZERO, None, set[str]()
        while parent is not None and parent not in seen:
            seen.add(parent)
            if level.borrowing is not None:
                bound = kept + held + level.borrowing
                most = bound if most is None else min(most, bound)
            kept += _ZERO if level.lending is None else max(_ZERO, held - level.lending)
            above = self._cohorts.get(parent, Cohort())
            level, held, parent = (
                _level(above, flavor, resource),
                self._subtree(parent, flavor, resource, frozenset()),
                above.parent,
            )
        return kept + held if most is None else min(most, kept + held)

    def _subtree(self, cohort: str, flavor: str, resource: str, seen: frozenset[str]) -> Decimal:
        held = _level(self._cohorts.get(cohort, Cohort()), flavor, resource).nominal
        for child in self._below.get(cohort, ()):
            level = _level(child, flavor, resource)
            is_queue = isinstance(child, ClusterQueue)
            if not is_queue and child.name in seen | {cohort}:
                continue
            own = level.nominal if is_queue else self._subtree(child.name, flavor, resource, seen | {cohort})
            held += own if level.lending is None else min(own, level.lending)
        return held


def unreachable(context: WorkloadContext) -> Iterator[Verdict]:
    """Yield the pods of workloads that exceed the potential quota of every flavor of their ClusterQueue."""
    tree = _Tree(context)
    flavors = {flavor.name: flavor for flavor in context.read(ResourceFlavor)}
    for workload, cluster_queue in cluster_queues(context):
        for pods in workload.sets:
            yield from _of_pods(workload, pods, cluster_queue, tree, flavors)


def cluster_queues(context: WorkloadContext) -> Iterator[tuple[Workload, ClusterQueue]]:
    """Yield the workloads whose ClusterQueue exists, with it."""
    queues = {queue.name: queue for queue in context.read(ClusterQueue)}
    local_queues = placed(context)
    for workload in context.workloads:
        queue = labels_of(workload.owners[-1]).get(QUEUE_LABEL) or labels_of(workload.manifest).get(
            QUEUE_LABEL, DEFAULT_QUEUE
        )
        cluster_queue = queues.get(local_queues.get((workload.namespace, queue)) or "")
        if cluster_queue is not None:
            yield workload, cluster_queue


def placed(context: WorkloadContext) -> Mapping[tuple[str, str], str | None]:
    """Return the ClusterQueue of each LocalQueue by its namespace and name."""
    return {(queue.namespace or "default", queue.name): queue.cluster_queue for queue in context.read(LocalQueue)}


def _of_pods(
    workload: Workload, pods: PodSet, cluster_queue: ClusterQueue, tree: _Tree, flavors: Mapping[str, ResourceFlavor]
) -> Iterator[Verdict]:
    least = annotations_of(workload.manifest).get(MIN_PARALLELISM_ANNOTATION, "")
    count = int(least) if least.isdecimal() and len(least) < 10 else pods.count
    for resource, amount in _requests(pods).items():
        for group in cluster_queue.groups:
            if resource not in group.resources:
                continue
            usable = list(usable_flavors(pods, group, flavors))
            most = max((tree.most(cluster_queue, flavor, resource) for flavor in usable), default=_ZERO)
            if usable and amount * count > most:
                where = " or ".join(usable)
                yield workload.pending(
                    template_field(pods, "spec", f"containers[0].resources.requests[{resource}]"), "Exceeded",
                    f"insufficient quota: the workload requests {_plain(amount * count)} {resource}, but ClusterQueue "
                    f"{cluster_queue.name} has at most {_plain(most)} in flavor {where}, including borrowing",
                    "request less, or raise the limits of the ClusterQueue's cohorts",
                )  # fmt: skip


def usable_flavors(pods: PodSet, group: ResourceGroup, flavors: Mapping[str, ResourceFlavor]) -> Iterator[str]:
    """Yield the flavors that the node selector allows: only label keys of the group's flavors are compared."""
    unknown = ResourceFlavor()
    labels = {each.flavor: flavors.get(each.flavor, unknown).labels for each in group.flavors}
    keys = {key for held in labels.values() for key in held}
    selector = {key: value for key, value in mapping(pods.spec, "nodeSelector").items() if key in keys}
    yield from (name for name in labels if all(labels[name].get(key) == value for key, value in selector.items()))


def _requests(pods: PodSet) -> Mapping[str, Decimal]:
    asked: dict[str, Decimal] = {}
    for container in items(pods.spec, "containers"):
        for resource, written in {
            **mapping(container, "resources", "limits"),
            **mapping(container, "resources", "requests"),
        }.items():
            asked[resource] = asked.get(resource, _ZERO) + (quantity(written) or _ZERO)
    return {resource: amount for resource, amount in asked.items() if amount}


def _level(holder: QuotaHolder, flavor: str, resource: str) -> _Level:
    for _, on, quota in holder.quotas():
        if (on, quota.resource) == (flavor, resource):
            borrowing, lending = quantity(quota.borrowing_limit), quantity(quota.lending_limit)
            return _Level(quantity(quota.nominal) or _ZERO, borrowing, lending)
    return _Level(_ZERO, None, None)


def _plain(amount: Decimal) -> str:
    return f"{amount.normalize():f}"
