"""The labels, annotations and fields with which a workload names its queue, priority and scheduler on each engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from apportion_api.kai.names import DEFAULT_SCHEDULER, MIN_MEMBER_ANNOTATION, PRIORITY_CLASS_LABEL, QUEUE_LABEL

Said = Callable[[str], Mapping[str, str]]


def nothing(value: str) -> Mapping[str, str]:
    """Return no labels."""
    return {}


@dataclass(frozen=True, slots=True)
class WorkloadLabels:
    """The labels and fields of a workload in short form.

    Attributes:
        scheduler: The `schedulerName` of its pods; empty is the default one.
        queue_labels: The labels of the workload, by its queue.
        queue_annotations: The annotations of the workload, by its queue.
        pod_labels: The labels of its pods, by its queue.
        pod_annotations: The annotations of its pods, by its queue.
        priority_labels: The labels of the workload, by its priority class.
        names_class: Whether its pods also name the class.
        least_annotation: The annotation of a workload with its gang minimum.
        shares_gpus: Whether fractions of devices can be requested, by KAI's annotations.
        spreads_pods: Whether the engine honors hard topology spread constraints.
        has_queues: Whether a workload names its queue.
        finished: The final change to a workload.
    """

    scheduler: str = ""
    queue_labels: Said = nothing
    queue_annotations: Said = nothing
    pod_labels: Said = nothing
    pod_annotations: Said = nothing
    priority_labels: Said = nothing
    names_class: bool = True
    least_annotation: str = MIN_MEMBER_ANNOTATION
    shares_gpus: bool = False
    spreads_pods: bool = True
    has_queues: bool = True
    finished: Callable[[dict[str, Any]], dict[str, Any]] = lambda made: made


def by(*keys: str) -> Said:
    """Return a function that maps a value to the given keys."""
    return lambda value: dict.fromkeys(keys, value) if value else {}


KAI_WORKLOAD_LABELS = WorkloadLabels(
    scheduler=DEFAULT_SCHEDULER,
    queue_labels=by(QUEUE_LABEL),
    priority_labels=by(PRIORITY_CLASS_LABEL),
    names_class=False,
    shares_gpus=True,
    spreads_pods=False,
)
PLAIN_WORKLOAD_LABELS = WorkloadLabels(has_queues=False)
