"""How a simulation recognises and creates Apache YuniKorn."""

from __future__ import annotations

from apportion_api.yunikorn.names import CONFIG_MAP, DEFAULTS_CONFIG_MAP, QUEUE_ANNOTATION, SCHEDULER, TITLE
from apportion_runtime.admission.objects import kind_of, name_of
from apportion_runtime.engines.base.model import Model
from apportion_runtime.engines.yunikorn.engine import YuniKorn
from apportion_runtime.sim.scenario.workload_labels import WorkloadLabels, by

_CONFIG_MAPS = (CONFIG_MAP, DEFAULTS_CONFIG_MAP)

MODEL = Model(
    "yunikorn",
    TITLE,
    lambda made: kind_of(made) == ("", "ConfigMap") and name_of(made) in _CONFIG_MAPS,
    made_by=YuniKorn,
    # As an annotation, because a path may be longer than the value of a label.
    workload_labels=WorkloadLabels(scheduler=SCHEDULER, pod_annotations=by(QUEUE_ANNOTATION)),
)
