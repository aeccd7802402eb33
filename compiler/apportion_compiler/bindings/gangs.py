"""Which workloads start whole or not at all: by their engine, their kind, and what marks their pods as a gang."""

from __future__ import annotations

from apportion_compiler.engine_rules.workload_rules.workload_context import Workload
from apportion_compiler.engines.kai import names as kai
from apportion_compiler.engines.koordinator.binding import GANG_MIN_ANNOTATION
from apportion_compiler.engines.kueue import names as kueue
from apportion_compiler.engines.volcano.binding import MIN_MEMBER_ANNOTATION
from apportion_compiler.engines.yunikorn import names as yunikorn
from apportion_compiler.plain_objects import integer

_GANG_ANNOTATIONS = {
    "kai": kai.MIN_MEMBER_ANNOTATION,
    "volcano": MIN_MEMBER_ANNOTATION,
    "koordinator": GANG_MIN_ANNOTATION,
    "yunikorn": yunikorn.TASK_GROUPS_ANNOTATION,
}
"""What makes a gang of pods that would start one by one."""

_BY_PODS = ("koordinator", "yunikorn")
"""Engines that look at pods alone: no kind is a gang by itself."""


def starts_together(engine: str, workload: Workload) -> bool:
    """Tell whether all pods of a workload start together or none does."""
    if engine == "native" or workload.is_of("apps") or workload.is_of("", "ReplicationController"):
        return False
    if engine == "kueue":
        return not workload.values_of(kueue.MIN_PARALLELISM_ANNOTATION, annotation=True)
    if engine not in _GANG_ANNOTATIONS:
        return True
    stated = workload.values_of(_GANG_ANNOTATIONS[engine], annotation=True)
    if engine in _BY_PODS or workload.is_of("batch") or workload.is_of("jobset.x-k8s.io"):
        least = [int(value) for value in stated if value.isdecimal()]
        return bool(stated) and all(count >= workload.n_pods for count in least)
    min_available = integer(workload.manifest, "spec", "minAvailable")
    return min_available is None or min_available >= workload.n_pods
