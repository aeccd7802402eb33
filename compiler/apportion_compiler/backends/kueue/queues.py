"""Cohort, ClusterQueue and LocalQueue: inner queues, leaves, and a leaf's door in each of its namespaces.

Nothing is checked across these objects when they are applied: a missing cohort counts as one without bounds, and a
ClusterQueue whose flavor or admission check is missing is inactive (apis/kueue/v1beta2/clusterqueue_types.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.kueue.division import Division
from apportion_compiler.backends.kueue.flavors import Layout
from apportion_compiler.backends.kueue.names import API, root_cohort
from apportion_compiler.backends.kueue.provisioning import check_name
from apportion_compiler.backends.kueue.quotas import (
    Group,
    cluster_queue_groups,
    cohort_groups,
    groups_of,
    root_groups,
)
from apportion_compiler.backends.metadata import GROUP, metadata
from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.naming import object_name
from apportion_policy.quantity import cpu_text
from apportion_policy.resources import CPU, GPU

TITLE_ANNOTATION = f"{GROUP}/title"


def cohorts(program: Program, layout: Layout, division: Division) -> Iterator[Manifest]:
    """Yield the Cohort objects, the root first.

    The root is there for every cluster: without a cohort a ClusterQueue can neither borrow nor be bounded, and what
    the machines hold beyond every promise is what top-level queues share.
    """
    groups = groups_of(program, layout)
    root = root_cohort(program)
    surplus = root_groups(groups, division.root)
    yield {
        "apiVersion": API,
        "kind": "Cohort",
        "metadata": metadata(program, root, program.source),
        "spec": {"resourceGroups": surplus} if surplus else {},
    }
    for queue in program.queues:
        if not queue.is_leaf:
            held = cohort_groups(queue, groups, division)
            yield {
                "apiVersion": API,
                "kind": "Cohort",
                "metadata": metadata(
                    program, object_name(queue.id), queue.source, queue=queue, annotations=_notes(queue)
                ),
                "spec": {
                    "parentName": _parent(queue, root),
                    **({"resourceGroups": held} if held else {}),
                    "fairSharing": {"weight": _weight(program, queue)},
                },
            }


def cluster_queues(program: Program, layout: Layout, division: Division) -> Iterator[Manifest]:
    """Yield the ClusterQueue objects."""
    groups = groups_of(program, layout)
    root = root_cohort(program)
    protected = {cls.name for cls in program.priority_classes if not cls.preemptible}
    for queue in program.queues:
        if queue.is_leaf:
            spec: dict[str, object] = {
                "cohortName": _parent(queue, root),
                "queueingStrategy": program.kueue.queueing_strategy,
                **_namespaces(queue),
                **_quotas(queue, groups, division),
                "flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"},
                "preemption": _preemption(queue, protected),
                **_admission_checks(program, queue, layout),
                "fairSharing": {"weight": _weight(program, queue)},
            }
            yield {
                "apiVersion": API,
                "kind": "ClusterQueue",
                "metadata": metadata(
                    program, object_name(queue.id), queue.source, queue=queue, annotations=_notes(queue)
                ),
                "spec": spec,
            }


def local_queues(program: Program) -> Iterator[Manifest]:
    """Yield the LocalQueue objects.

    They are named by the queue's id because `spec.clusterQueue` cannot be changed: a namespace that moves to another
    queue gets another object.
    """
    for queue in program.queues:
        for namespace in queue.namespaces:
            yield {
                "apiVersion": API,
                "kind": "LocalQueue",
                "metadata": metadata(program, object_name(queue.id), queue.source, namespace=namespace, queue=queue),
                "spec": {"clusterQueue": object_name(queue.id)},
            }


def _parent(queue: Queue, root: str) -> str:
    return root if queue.parent is None else object_name(queue.parent)


def _notes(queue: Queue) -> Mapping[str, str] | None:
    return {TITLE_ANNOTATION: queue.title} if queue.title else None


def _namespaces(queue: Queue) -> dict[str, object]:
    """Select the namespaces by name; left out, no namespace is selected."""
    if not queue.namespaces:
        return {}
    values = list(queue.namespaces)
    return {
        "namespaceSelector": {
            "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": values}]
        }
    }


def _quotas(queue: Queue, groups: Sequence[Group], division: Division) -> dict[str, object]:
    found = cluster_queue_groups(queue, groups, division)
    return {"resourceGroups": found} if found else {}


def _preemption(queue: Queue, protected: set[str]) -> dict[str, object]:
    """Return what makes a guarantee true: what others borrowed of it is taken back, whatever its priority.

    Within the queue a higher priority evicts a lower one, unless no class of the queue may be evicted.
    `borrowWithinCohort` stays Never: fair sharing, which the weights need, does not know it.
    """
    only_protected = bool(queue.priority_classes) and protected.issuperset(queue.priority_classes)
    return {
        "reclaimWithinCohort": "Any",
        "withinClusterQueue": "Never" if only_protected else "LowerPriority",
    }


def _admission_checks(program: Program, queue: Queue, layout: Layout) -> dict[str, object]:
    """Name the check of each plan, on the flavors whose machines are asked for by it."""
    on_flavors: dict[str, list[str]] = {}
    for flavor in layout.flavors:
        if flavor.plan is not None and flavor.is_usable_by(queue):
            on_flavors.setdefault(check_name(flavor.plan), []).append(flavor.name)
    checks = [{"name": name, "onFlavors": flavors} for name, flavors in sorted(on_flavors.items())]
    return {"admissionChecksStrategy": {"admissionChecks": checks}} if checks else {}


def _weight(program: Program, queue: Queue) -> str:
    """Return the one weight: that of GPUs, which are scarce, unless the policy counts none."""
    return cpu_text(queue.weight[CPU if GPU in program.unmanaged else GPU])
