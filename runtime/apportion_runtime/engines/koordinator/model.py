"""How a simulation recognises and creates Koordinator, and how it expects workloads in short form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion_api.koordinator.names import (
    GANG_MIN_ANNOTATION,
    GANG_NAME_ANNOTATION,
    GROUP,
    INSTALLED_CLASSES,
    PROFILE_GROUP,
    QUEUE_LABEL,
    SCHEDULER,
    TITLE,
    TOPOLOGY_GROUP,
)
from apportion_runtime.admission.objects import annotations_of, kind_of, name_of
from apportion_runtime.engines.base.model import SYSTEM_CLASSES, Model
from apportion_runtime.engines.koordinator.engine import Koordinator
from apportion_runtime.sim.scenario.workload_labels import WorkloadLabels, by

_GROUPS = (PROFILE_GROUP, TOPOLOGY_GROUP)
_JOB = ("batch", "Job")


def _with_gang(made: dict[str, Any]) -> dict[str, Any]:
    """Return a Job whose pods are a gang, if it has a minimum: Koordinator reads gangs only from pods."""
    least = annotations_of(made).get(GANG_MIN_ANNOTATION)
    if least is None or kind_of(made) != _JOB:
        return made
    spec: Mapping[str, Any] = made["spec"]
    template: Mapping[str, Any] = spec["template"]
    gang = {GANG_NAME_ANNOTATION: name_of(made), GANG_MIN_ANNOTATION: least}
    metadata = {**template["metadata"], "annotations": {**annotations_of(template), **gang}}
    return {**made, "spec": {**spec, "template": {**template, "metadata": metadata}}}


MODEL = Model(
    "koordinator",
    TITLE,
    lambda made: kind_of(made)[0] in _GROUPS or kind_of(made) == (GROUP, "ElasticQuota"),
    made_by=Koordinator,
    workload_labels=WorkloadLabels(
        scheduler=SCHEDULER,
        pod_labels=by(QUEUE_LABEL),
        least_annotation=GANG_MIN_ANNOTATION,
        finished=_with_gang,
    ),
    priority_classes={**SYSTEM_CLASSES, **INSTALLED_CLASSES},
)
