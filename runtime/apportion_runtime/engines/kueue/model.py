"""How a simulation recognises and creates Kueue."""

from __future__ import annotations

from apportion_api.kueue.names import CONFIGURATION_GROUP, GROUP, PRIORITY_CLASS_LABEL, QUEUE_LABEL, TITLE
from apportion_runtime.engines.base.model import Model, of_groups
from apportion_runtime.engines.kueue.engine import Kueue
from apportion_runtime.engines.kueue.observed_workloads import observe
from apportion_runtime.sim.scenario.workload_labels import WorkloadLabels, by

MODEL = Model(
    "kueue",
    TITLE,
    of_groups(GROUP, CONFIGURATION_GROUP),
    made_by=Kueue,
    observe=observe,
    workload_labels=WorkloadLabels(queue_labels=by(QUEUE_LABEL), priority_labels=by(PRIORITY_CLASS_LABEL)),
)
