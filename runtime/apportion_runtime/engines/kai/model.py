"""How a simulation recognises and creates KAI Scheduler."""

from __future__ import annotations

from apportion_api.kai.names import CONFIGURATION_GROUP, GROUP, TITLE
from apportion_runtime.engines.base.model import Model, of_groups
from apportion_runtime.engines.kai.engine import CLASSES, Kai
from apportion_runtime.sim.scenario.workload_labels import KAI_WORKLOAD_LABELS

MODEL = Model(
    "kai",
    TITLE,
    of_groups(GROUP, CONFIGURATION_GROUP),
    made_by=Kai,
    workload_labels=KAI_WORKLOAD_LABELS,
    reads=lambda made: True,
    priority_classes=CLASSES,
)
