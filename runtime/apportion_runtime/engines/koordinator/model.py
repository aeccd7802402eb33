"""How a simulation recognises Koordinator, which it cannot run."""

from __future__ import annotations

from apportion_runtime.admission.objects import kind_of
from apportion_runtime.engines.base.model import Model

_GROUPS = ("quota.koordinator.sh", "scheduling.koordinator.sh")

MODEL = Model(
    "koordinator",
    "Koordinator",
    lambda made: kind_of(made)[0] in _GROUPS or kind_of(made) == ("scheduling.sigs.k8s.io", "ElasticQuota"),
)
