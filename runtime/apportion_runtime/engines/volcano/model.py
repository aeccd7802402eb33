"""How a simulation recognises and creates Volcano."""

from __future__ import annotations

from apportion_runtime.engines.base.model import Model, of_groups
from apportion_runtime.engines.volcano.engine import Volcano
from apportion_runtime.engines.volcano.pod_groups import (
    LEAST_ANNOTATION,
    QUEUE_ANNOTATION,
    QUEUE_LABEL,
    RAY_CLASS,
    SCHEDULER,
)
from apportion_runtime.sim.scenario.workload_labels import WorkloadLabels, by

MODEL = Model(
    "volcano",
    "Volcano",
    of_groups("scheduling.volcano.sh", "batch.volcano.sh"),
    made_by=Volcano,
    workload_labels=WorkloadLabels(
        scheduler=SCHEDULER,
        queue_labels=by(QUEUE_LABEL),
        queue_annotations=by(QUEUE_ANNOTATION),
        pod_annotations=by(QUEUE_ANNOTATION),
        priority_labels=by(RAY_CLASS),
        least_annotation=LEAST_ANNOTATION,
    ),
)
