"""How a simulation recognises and creates Volcano."""

from __future__ import annotations

from apportion_api.kubernetes.operators import RAY_PRIORITY_CLASS_LABEL
from apportion_api.volcano.names import (
    BATCH_GROUP,
    GROUP,
    MIN_MEMBER_ANNOTATION,
    QUEUE_ANNOTATION,
    QUEUE_LABEL,
    SCHEDULER,
    TITLE,
)
from apportion_runtime.engines.base.model import Model, of_groups
from apportion_runtime.engines.volcano.engine import Volcano
from apportion_runtime.sim.scenario.workload_labels import WorkloadLabels, by

MODEL = Model(
    "volcano",
    TITLE,
    of_groups(GROUP, BATCH_GROUP),
    made_by=Volcano,
    workload_labels=WorkloadLabels(
        scheduler=SCHEDULER,
        queue_labels=by(QUEUE_LABEL),
        queue_annotations=by(QUEUE_ANNOTATION),
        pod_annotations=by(QUEUE_ANNOTATION),
        priority_labels=by(RAY_PRIORITY_CLASS_LABEL),
        least_annotation=MIN_MEMBER_ANNOTATION,
    ),
)
