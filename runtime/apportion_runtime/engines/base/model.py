"""The registration of an engine: name, recognised objects, constructor, and workload labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from apportion_api.kubernetes.names import SCHEDULING_GROUP
from apportion_runtime.admission.objects import kind_of
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.engine import Engine
from apportion_runtime.sim.observed.workloads import ObservedWorkload, observed_workloads
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.sim.scenario.workload_labels import PLAIN_WORKLOAD_LABELS, WorkloadLabels

SYSTEM_CLASSES: Mapping[str, int] = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""Priority classes that every cluster has."""
_PLAIN = frozenset(
    ((SCHEDULING_GROUP, "PriorityClass"), ("", "Namespace"), ("", "ConfigMap"), ("", "PersistentVolumeClaim"))
)


class NoModelError(ValueError):
    """Objects of several engines, or of none that is known."""


def _is_plain(made: Manifest) -> bool:
    return kind_of(made) in _PLAIN


@dataclass(frozen=True, slots=True)
class Model:
    """An engine that a simulation recognises.

    Attributes:
        name: The compiler's name of the target.
        title: The engine's own name.
        is_of: Whether an object belongs to this engine.
        made_by: Creates the engine on a cluster.
        workload_labels: The labels by which workloads name their queue and priority.
        reads: Whether an object is read into the records of the scheduler core.
        priority_classes: Those that exist unless the objects redefine them.
        observe: Returns the workloads among the objects of a cluster that have pods or quota.
        queued: Returns the jobs among them that wait in a queue without a separate workload object.
    """

    name: str
    title: str
    is_of: Callable[[Manifest], bool]
    made_by: Callable[[ClusterState], Engine]
    workload_labels: WorkloadLabels = PLAIN_WORKLOAD_LABELS
    reads: Callable[[Manifest], bool] = _is_plain
    priority_classes: Mapping[str, int] = field(default_factory=lambda: SYSTEM_CLASSES)
    observe: Callable[[Sequence[Manifest]], Sequence[ObservedWorkload]] = observed_workloads
    queued: Callable[[Sequence[Manifest]], Sequence[Manifest]] = lambda objects: ()


def of_groups(*groups: str) -> Callable[[Manifest], bool]:
    """Return a predicate for objects of some API groups."""
    return lambda made: kind_of(made)[0] in groups


def of_kinds(*kinds: tuple[str, str]) -> Callable[[Manifest], bool]:
    """Return a predicate for objects of some kinds, each an API group and a kind."""
    return lambda made: kind_of(made) in kinds
