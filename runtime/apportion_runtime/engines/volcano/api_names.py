"""How workloads speak to Volcano."""

from __future__ import annotations

from apportion_runtime.engines.volcano.pod_groups import (
    LEAST_ANNOTATION,
    QUEUE_ANNOTATION,
    QUEUE_LABEL,
    RAY_CLASS,
    SCHEDULER,
)
from apportion_runtime.sim.scenario.workload_labels import WorkloadLabels, by

VOLCANO_WORKLOAD_LABELS = WorkloadLabels(
    scheduler=SCHEDULER,
    queue_labels=by(QUEUE_LABEL),
    queue_annotations=by(QUEUE_ANNOTATION),
    pod_annotations=by(QUEUE_ANNOTATION),
    priority_labels=by(RAY_CLASS),
    least_annotation=LEAST_ANNOTATION,
)
