"""Recognition of Koordinator, which is not simulated."""

from __future__ import annotations

from apportion_api.koordinator.names import GROUP, PROFILE_GROUP, TOPOLOGY_GROUP
from apportion_runtime.admission.objects import kind_of
from apportion_runtime.engines.base.model import Model

_GROUPS = (PROFILE_GROUP, TOPOLOGY_GROUP)

MODEL = Model(
    "koordinator",
    "Koordinator",
    lambda made: kind_of(made)[0] in _GROUPS or kind_of(made) == (GROUP, "ElasticQuota"),
)
