"""GPU requests other than whole devices: fractions by annotation, legacy MIG annotations, and shared devices.

Source: pkg/scheduler/api/pod_info/pod_info.go (updatePodAdditionalFields), pkg/common/resources/gpu_sharing.go.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from apportion_api.kai.names import (
    GPU_DEVICES_ANNOTATION,
    GPU_FRACTION_ANNOTATION,
    GPU_GROUP_LABEL,
    GPU_GROUP_LABEL_PREFIX,
    GPU_MEMORY_ANNOTATION,
)
from apportion_runtime.core.resources import GpuRequest, is_mig, whole_or_fraction
from apportion_runtime.snapshots.faults import IGNORED_VALUE, Fault
from apportion_runtime.snapshots.kubernetes.objects import Object
from apportion_runtime.snapshots.quantities import parse_integer

_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_READ = frozenset((GPU_FRACTION_ANNOTATION, GPU_MEMORY_ANNOTATION, GPU_DEVICES_ANNOTATION))
_CURES = {
    GPU_FRACTION_ANNOTATION: "use a fraction such as 0.5",
    GPU_MEMORY_ANNOTATION: "specify the memory in MiB, such as 2000",
}


def gpu_request(pod: Object, asked: GpuRequest, claimed: int, faults: list[Fault]) -> tuple[GpuRequest, bool]:
    """Return the GPU request of a pod, and whether it uses a legacy MIG annotation.

    Args:
        pod: The pod.
        asked: The requests of its containers.
        claimed: GPUs by resource claims.
        faults: Receives annotations that cannot be read.
    """
    annotations = pod.annotations
    if not annotations:
        return (replace(asked, dra=claimed) if claimed else asked), False
    made = asked
    if not _READ.isdisjoint(annotations):
        made = _part(pod, annotations, asked, faults)
    if claimed:
        made = replace(made, dra=claimed)
    old = None
    for key in sorted(annotations):
        if is_mig(key):
            count = _integer(pod, key, faults)
            old = old if count is None else GpuRequest(mig=((key, count),))
    return (made, False) if old is None else (old, True)


def _part(pod: Object, annotations: Mapping[str, str], asked: GpuRequest, faults: list[Fault]) -> GpuRequest:
    made = asked
    is_part = False
    memory = _integer(pod, GPU_MEMORY_ANNOTATION, faults) or 0
    if memory > 0:
        made, is_part = whole_or_fraction(0.0, memory), True
    portion = _portion(pod, faults)
    if 0 < portion <= 1:
        made, is_part = whole_or_fraction(portion), True
    if is_part and annotations.get(GPU_DEVICES_ANNOTATION):
        devices = _integer(pod, GPU_DEVICES_ANNOTATION, faults)
        if devices is not None:
            return GpuRequest(devices, portion, memory)
    return made


def _portion(pod: Object, faults: list[Fault]) -> float:
    text = pod.annotations.get(GPU_FRACTION_ANNOTATION)
    if text is None:
        return 0.0
    if not _FLOAT.fullmatch(text) or not math.isfinite(float(text)):
        _ignored(pod, GPU_FRACTION_ANNOTATION, f"`{text}` is not a number", faults)
        return 0.0
    portion = float(text)
    if not 0 < portion <= 1:
        _ignored(pod, GPU_FRACTION_ANNOTATION, f"`{text}` is not between 0 and 1", faults)
    return portion


def _integer(pod: Object, key: str, faults: list[Fault]) -> int | None:
    text = pod.annotations.get(key)
    if text is None:
        return None
    try:
        return parse_integer(text)
    except ValueError as wrong:
        _ignored(pod, key, str(wrong), faults)
        return None


def _ignored(pod: Object, key: str, why: str, faults: list[Fault]) -> None:
    message = f"annotation `{key}`: {why}; the engine ignores the annotation"
    place = pod.place.at("metadata", "annotations", key)
    faults.append(Fault(IGNORED_VALUE, pod.address, message, _CURES.get(key, "use an integer"), place))


def gpu_groups(labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the shared devices of a pod, by their group names."""
    first = labels.get(GPU_GROUP_LABEL)
    if first is None:
        return ()
    return (first, *(labels[key] for key in sorted(labels) if key.startswith(GPU_GROUP_LABEL_PREFIX)))


def gpu_group_labels(groups: Sequence[str]) -> dict[str, str]:
    """Return the labels from which `gpu_groups` reads groups; at least one."""
    return {GPU_GROUP_LABEL: groups[0], **{f"{GPU_GROUP_LABEL_PREFIX}{group}": group for group in groups[1:]}}
