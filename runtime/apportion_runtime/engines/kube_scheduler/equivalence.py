"""Equivalence classes of pods: those of one class fit on the same nodes."""

from __future__ import annotations

from typing import NamedTuple

from apportion_runtime.core.pod_constraints import NodeTerm, Toleration
from apportion_runtime.engines.kube_scheduler.pods import PodFacts


class EquivalenceClass(NamedTuple):
    """The shape shared by pods that are all schedulable or all unschedulable."""

    scheduler: str
    priority: int
    may_preempt: bool
    request: tuple[tuple[str, int], ...]
    selector: tuple[tuple[str, str], ...]
    affinity: tuple[NodeTerm, ...] | None
    tolerations: tuple[Toleration, ...]

    @property
    def on_node(self) -> tuple[object, ...]:
        """What decides whether a node fits, without the pods that may be evicted there."""
        return self[3:]


def alike(pod: PodFacts) -> object | None:
    """Return the shape shared by pods that are all schedulable or all unschedulable; None if other pods matter."""
    on_nodes, record = alike_on_nodes(pod), pod.record
    return None if on_nodes is None else (on_nodes, record.namespace, tuple(sorted(record.labels.items())))


def alike_on_nodes(pod: PodFacts) -> EquivalenceClass | None:
    """Return the shape shared by pods that fit on the same nodes; None if the pod has affinity terms of its own.

    Anti-affinity of other pods to them is not considered.
    """
    known = pod.classes
    if not known:
        known.append(_class_of(pod))
    found = known[0]
    assert found is None or isinstance(found, EquivalenceClass)
    return found


def _class_of(pod: PodFacts) -> EquivalenceClass | None:
    record = pod.record
    if pod.spreads or record.affinity or record.anti_affinity or record.host_ports or pod.owner is not None:
        return None
    # The next search begins behind the nodes that such a pod names.
    if record.node_affinity and any(term.fields for term in record.node_affinity):
        return None
    return EquivalenceClass(
        record.scheduler,
        pod.priority,
        pod.may_preempt,
        tuple(sorted(pod.request.items())),
        tuple(sorted(record.node_selector.items())),
        record.node_affinity,
        record.tolerations,
    )
