"""Cohort, ClusterQueue and LocalQueue: inner queues, leaves, and the entry point of a leaf in each of its namespaces.

Kueue does not check references between these objects on admission: a missing cohort is unlimited, and a ClusterQueue
whose flavor or admission check is missing is inactive (apis/kueue/v1beta2/clusterqueue_types.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.kubernetes.names import NAMESPACE_LABEL
from apportion_api.kueue.names import API
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import GROUP, MANAGED_BY_LABEL, metadata
from apportion_compiler.backends.partitions import default_names
from apportion_compiler.engines.kueue.emit.flavor_quotas import Division
from apportion_compiler.engines.kueue.emit.flavors import Layout
from apportion_compiler.engines.kueue.emit.provisioning import check_name
from apportion_compiler.engines.kueue.emit.quotas import (
    Group,
    cluster_queue_groups,
    cohort_groups,
    groups_of,
    root_groups,
)
from apportion_compiler.engines.kueue.names import queue_name, root_cohort
from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.kubernetes_names import object_name
from apportion_policy.kueue_objects import KueueLocalQueue
from apportion_policy.quantity import cpu_text
from apportion_policy.resources import CPU, GPU

TITLE_ANNOTATION = f"{GROUP}/title"


def cohorts(program: Program, layout: Layout, division: Division) -> Iterator[Manifest]:
    """Yield the Cohort objects, the root first.

    Every cluster has a root: without a cohort, a ClusterQueue can neither borrow nor be limited, and top-level queues
    share the capacity beyond all guarantees.
    """
    groups = groups_of(program, layout)
    root = root_cohort(program)
    surplus = root_groups(groups, division.root)
    if program.kueue.root_cohort:
        yield {
            "apiVersion": API,
            "kind": "Cohort",
            "metadata": metadata(program, root, program.source),
            "spec": {"resourceGroups": surplus} if surplus else {},
        }
    names = _parent_names(program, root)
    for queue in program.queues:
        if not queue.is_leaf and not queue.kueue.without_object:
            held = cohort_groups(queue, groups, division)
            spec: dict[str, object] = {
                **_parent(queue, names, "parentName"),
                **({"resourceGroups": held} if held else {}),
                "fairSharing": {"weight": _weight(program, queue)},
            }
            yield {
                "apiVersion": API,
                "kind": "Cohort",
                "metadata": _metadata(program, queue),
                "spec": replaced(spec, queue.kueue.spec),
            }


def cluster_queues(program: Program, layout: Layout, division: Division) -> Iterator[Manifest]:
    """Yield the ClusterQueue objects."""
    groups = groups_of(program, layout)
    names = _parent_names(program, root_cohort(program))
    protected = {cls.name for cls in program.priority_classes if not cls.preemptible}
    for queue in program.queues:
        if queue.is_leaf:
            spec: dict[str, object] = {
                **_parent(queue, names, "cohortName"),
                "queueingStrategy": queue.kueue.queueing_strategy or program.kueue.queueing_strategy,
                **_namespaces(queue),
                **_quotas(queue, groups, division),
                "flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"},
                "preemption": _preemption(queue, protected),
                **_admission_checks(queue, layout),
                "fairSharing": {"weight": _weight(program, queue)},
            }
            yield {
                "apiVersion": API,
                "kind": "ClusterQueue",
                "metadata": _metadata(program, queue),
                "spec": replaced(spec, queue.kueue.spec),
            }


def local_queues(program: Program) -> Iterator[Manifest]:
    """Yield the LocalQueue objects.

    They are named after the queue's id because `spec.clusterQueue` is immutable: a namespace that moves to another
    queue gets another object. A default queue has a second LocalQueue, with the name that Kueue assigns to workloads
    without one.
    """
    for queue in program.queues:
        declared = queue.kueue.local_queues
        if declared is None:
            names = dict.fromkeys((object_name(queue.id), *default_names(program, queue)))
            declared = tuple(
                KueueLocalQueue(name=name, namespace=namespace) for namespace in queue.namespaces for name in names
            )
        for local in declared if queue.is_leaf else ():
            yield {
                "apiVersion": API,
                "kind": "LocalQueue",
                "metadata": metadata(
                    program,
                    local.name,
                    queue.source,
                    namespace=local.namespace,
                    queue=queue,
                    labels=further(local.labels),
                    annotations=further(local.annotations),
                ),
                "spec": {"clusterQueue": queue_name(queue), **local.spec},
            }


def replaced(spec: Mapping[str, object], fields: Mapping[str, object]) -> dict[str, object]:
    """Return a spec with some fields replaced; a field that is None is removed."""
    return {key: value for key, value in {**spec, **fields}.items() if value is not None}


def further(metadata: Mapping[str, str]) -> dict[str, str]:
    """Return labels or annotations without those that identify Apportion's objects."""
    return {k: v for k, v in sorted(metadata.items()) if k != MANAGED_BY_LABEL and not k.startswith(f"{GROUP}/")}


def _metadata(program: Program, queue: Queue) -> dict[str, object]:
    labels, annotations = further(queue.kueue.labels), further(queue.kueue.annotations)
    return metadata(
        program,
        queue_name(queue),
        queue.source,
        queue=queue,
        labels=labels,
        annotations={**(_notes(queue) or {}), **annotations},
    )


def _parent_names(program: Program, root: str) -> Mapping[str | None, str]:
    names: dict[str | None, str] = {queue.id: queue_name(queue) for queue in program.queues}
    return {None: root, **names} if program.kueue.root_cohort else names


def _parent(queue: Queue, names: Mapping[str | None, str], field: str) -> dict[str, object]:
    name = names.get(queue.parent)
    return {} if name is None else {field: name}


def _notes(queue: Queue) -> Mapping[str, str] | None:
    return {TITLE_ANNOTATION: queue.title} if queue.title else None


def _namespaces(queue: Queue) -> dict[str, object]:
    """Select the namespaces by name; without a selector, no namespace is selected."""
    if not queue.namespaces:
        return {}
    values = list(queue.namespaces)
    return {"namespaceSelector": {"matchExpressions": [{"key": NAMESPACE_LABEL, "operator": "In", "values": values}]}}


def _quotas(queue: Queue, groups: Sequence[Group], division: Division) -> dict[str, object]:
    found = cluster_queue_groups(queue, groups, division)
    return {"resourceGroups": found} if found else {}


def _preemption(queue: Queue, protected: set[str]) -> dict[str, object]:
    """Return the preemption that enforces guarantees: borrowed resources are reclaimed regardless of priority.

    Within the queue, a higher priority preempts a lower one, unless no class of the queue is preemptible.
    `borrowWithinCohort` is Never, because fair sharing, which weights require, does not support it.
    """
    preemption = queue.kueue.preemption
    if preemption is not None:
        borrow = {"policy": preemption.borrow_within_cohort, "maxPriorityThreshold": preemption.borrow_max_priority}
        kept = {key: value for key, value in borrow.items() if value is not None}
        return {
            "reclaimWithinCohort": preemption.reclaim_within_cohort,
            "withinClusterQueue": preemption.within_cluster_queue,
            **({"borrowWithinCohort": kept} if kept else {}),
        }
    only_protected = bool(queue.priority_classes) and protected.issuperset(queue.priority_classes)
    return {
        "reclaimWithinCohort": "Any",
        "withinClusterQueue": "Never" if only_protected else "LowerPriority",
    }


def _admission_checks(queue: Queue, layout: Layout) -> dict[str, object]:
    """Return the check of each plan, with the flavors of its machines."""
    on_flavors: dict[str, list[str]] = {}
    for flavor in layout.flavors:
        if flavor.plan is not None and flavor.is_usable_by(queue):
            on_flavors.setdefault(check_name(flavor.plan), []).append(flavor.name)
    checks = [{"name": name, "onFlavors": flavors} for name, flavors in sorted(on_flavors.items())]
    return {"admissionChecksStrategy": {"admissionChecks": checks}} if checks else {}


def _weight(program: Program, queue: Queue) -> str:
    """Return the single weight: that of GPUs, which are scarce, unless the policy does not count them."""
    return cpu_text(queue.weight[CPU if GPU in program.unmanaged else GPU])
