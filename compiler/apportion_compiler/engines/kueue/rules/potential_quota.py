"""What a ClusterQueue can have of a flavor at most: its own quota and all that cohorts above it let it borrow.

A workload that asks for more of every flavor it may use is never admitted, whoever else runs. Kueue computes what is
available level by level (pkg/cache/scheduler/resource_node.go, available and potentialAvailable).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engine_rules.workload_rules.workload_context import Workload, WorkloadContext, template_field
from apportion_compiler.engines.kueue import names
from apportion_compiler.engines.kueue.rules.field_validation import quantity
from apportion_compiler.plain_objects import annotations_of, items, labels_of, mapping, name_of, text
from apportion_compiler.workload_shapes import PodSet

_DEFAULT_QUEUE = "default"
_ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class _Level:
    """A ClusterQueue or cohort, for one flavor and resource; None is no limit."""

    nominal: Decimal
    borrowing: Decimal | None
    lending: Decimal | None


class _Tree:
    """The quotas of a cluster's cohorts."""

    def __init__(self, context: WorkloadContext) -> None:
        queues = context.named(names.GROUP, "ClusterQueue")
        self._cohorts = context.named(names.GROUP, "Cohort")
        self._below: dict[str, list[Manifest]] = {}
        for made in (*queues.values(), *self._cohorts.values()):
            parent = _parent(made)
            if parent is not None:
                self._below.setdefault(parent, []).append(made)

    def most(self, made: Manifest, flavor: str, resource: str) -> Decimal:
        """Return the most that a ClusterQueue can have."""
        level = _level(made, flavor, resource)
        held, parent = level.nominal, _parent(made)
        # What each level keeps to itself adds to what is above it, and each bound caps what is had so far.
        kept, most, seen = _ZERO, None, set[str]()
        while parent is not None and parent not in seen:
            seen.add(parent)
            if level.borrowing is not None:
                bound = kept + held + level.borrowing
                most = bound if most is None else min(most, bound)
            kept += _ZERO if level.lending is None else max(_ZERO, held - level.lending)
            above = self._cohorts.get(parent, {})
            level, held, parent = (
                _level(above, flavor, resource),
                self._subtree(parent, flavor, resource, frozenset()),
                _parent(above),
            )
        return kept + held if most is None else min(most, kept + held)

    def _subtree(self, cohort: str, flavor: str, resource: str, seen: frozenset[str]) -> Decimal:
        held = _level(self._cohorts.get(cohort, {}), flavor, resource).nominal
        for child in self._below.get(cohort, ()):
            level = _level(child, flavor, resource)
            is_queue = child.get("kind") == "ClusterQueue"
            if not is_queue and name_of(child) in seen | {cohort}:
                continue
            own = level.nominal if is_queue else self._subtree(name_of(child), flavor, resource, seen | {cohort})
            held += own if level.lending is None else min(own, level.lending)
        return held


def unreachable(context: WorkloadContext) -> Iterator[Verdict]:
    """Yield the pods whose workload no flavor of its ClusterQueue can ever hold."""
    tree = _Tree(context)
    flavors = context.named(names.GROUP, "ResourceFlavor")
    for workload, cluster_queue in cluster_queues(context):
        for pods in workload.sets:
            yield from _of_pods(workload, pods, cluster_queue, tree, flavors)


def cluster_queues(context: WorkloadContext) -> Iterator[tuple[Workload, Manifest]]:
    """Yield the workloads whose ClusterQueue is there, with it."""
    queues = context.named(names.GROUP, "ClusterQueue")
    locals_ = context.placed(names.GROUP, "LocalQueue")
    for workload in context.workloads:
        queue = labels_of(workload.owners[-1]).get(names.QUEUE_LABEL) or labels_of(workload.manifest).get(
            names.QUEUE_LABEL, _DEFAULT_QUEUE
        )
        local = locals_.get((workload.namespace, queue))
        cluster_queue = queues.get(text(local, "spec", "clusterQueue") or "")
        if cluster_queue is not None:
            yield workload, cluster_queue


def _of_pods(
    workload: Workload, pods: PodSet, cluster_queue: Manifest, tree: _Tree, flavors: Mapping[str, Manifest]
) -> Iterator[Verdict]:
    least = annotations_of(workload.manifest).get(names.MIN_PARALLELISM_ANNOTATION, "")
    count = int(least) if least.isdecimal() and len(least) < 10 else pods.count
    for resource, amount in _requests(pods).items():
        for group in items(cluster_queue, "spec", "resourceGroups"):
            if resource not in items(group, "coveredResources"):
                continue
            usable = list(usable_flavors(pods, [text(one, "name") or "" for one in items(group, "flavors")], flavors))
            most = max((tree.most(cluster_queue, flavor, resource) for flavor in usable), default=_ZERO)
            if usable and amount * count > most:
                where = " and ".join(usable)
                yield workload.pending(
                    template_field(pods, "spec", f"containers[0].resources.requests[{resource}]"), "Exceeded",
                    f"insufficient quota: it asks for {_plain(amount * count)} {resource}, and ClusterQueue "
                    f"{name_of(cluster_queue)} can have at most {_plain(most)} of flavor {where}, all borrowing included",
                    "ask for less, or raise the limits above the queue",
                )  # fmt: skip


def usable_flavors(pods: PodSet, listed: list[str], flavors: Mapping[str, Manifest]) -> Iterator[str]:
    """Yield the flavors that the node selector allows: it is compared by the keys that flavors of the group have."""
    labels = {name: mapping(flavors.get(name, {}), "spec", "nodeLabels") for name in listed}
    keys = {key for held in labels.values() for key in held}
    selector = {key: value for key, value in mapping(pods.spec, "nodeSelector").items() if key in keys}
    yield from (name for name in listed if all(labels[name].get(key) == value for key, value in selector.items()))


def _requests(pods: PodSet) -> Mapping[str, Decimal]:
    asked: dict[str, Decimal] = {}
    for container in items(pods.spec, "containers"):
        for resource, written in {
            **mapping(container, "resources", "limits"),
            **mapping(container, "resources", "requests"),
        }.items():
            asked[resource] = asked.get(resource, _ZERO) + (quantity(written) or _ZERO)
    return {resource: amount for resource, amount in asked.items() if amount}


def _level(made: Manifest, flavor: str, resource: str) -> _Level:
    for group in items(made, "spec", "resourceGroups"):
        for one in items(group, "flavors"):
            for quota in items(one, "resources") if text(one, "name") == flavor else ():
                if text(quota, "name") == resource:
                    found = mapping(quota)
                    return _Level(
                        quantity(found.get("nominalQuota")) or _ZERO,
                        quantity(found["borrowingLimit"]) if "borrowingLimit" in found else None,
                        quantity(found["lendingLimit"]) if "lendingLimit" in found else None,
                    )
    return _Level(_ZERO, None, None)


def _parent(made: Manifest) -> str | None:
    """Return the cohort above; v1beta1 has other names for it."""
    fields = ("cohortName", "cohort") if made.get("kind") == "ClusterQueue" else ("parentName", "parent")
    return next((name for field in fields if (name := text(made, "spec", field)) is not None), None)


def _plain(amount: Decimal) -> str:
    return f"{amount.normalize():f}"
