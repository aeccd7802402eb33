"""How a simulation recognises and creates Kueue."""

from __future__ import annotations

from apportion_runtime.engines.base.model import Model, of_groups
from apportion_runtime.engines.kueue.api_names import PRIORITY_CLASS, QUEUE_NAME
from apportion_runtime.engines.kueue.engine import Kueue
from apportion_runtime.sim.scenario.workload_labels import WorkloadLabels, by

MODEL = Model(
    "kueue",
    "Kueue",
    of_groups("kueue.x-k8s.io", "config.kueue.x-k8s.io"),
    made_by=Kueue,
    workload_labels=WorkloadLabels(queue_labels=by(QUEUE_NAME), priority_labels=by(PRIORITY_CLASS)),
)
