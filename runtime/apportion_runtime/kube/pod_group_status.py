"""The resources in the status of a PodGroup, as KAI's pod group controller calculates them.

Differences: devices of resource claims do not count, since pods with claims are not scheduled; `allocatedNonPreemptible`
of a group that has become preemptible is cleared, where KAI leaves the former amount.

Source: pkg/podgroupcontroller/controllers (status_updater.go, metadata, resources, patcher) at d5bc503a.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apportion_api.kai.names import (
    DEFAULT_PRIORITY,
    GPU_DEVICES_ANNOTATION,
    GPU_FRACTION_ANNOTATION,
    GPU_MEMORY_ANNOTATION,
    NON_PREEMPTIBLE,
    NON_PREEMPTIBLE_FROM,
    PREEMPTIBLE,
    RECEIVED_FRACTION,
    RECEIVED_TYPE_ANNOTATION,
)
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_runtime.admission.objects import spec_of
from apportion_runtime.kube.cluster import Manifest
from apportion_runtime.kube.quantity_sums import Amounts, Quantity, read_amounts, read_quantity, texts, total

_GPU_MEMORY = "run.ai/gpu.memory"
_PENDING, _RUNNING = "Pending", "Running"


@dataclass(frozen=True, slots=True)
class PodAmounts:
    """The resources that a pod requests and holds."""

    requested: Amounts = field(default_factory=dict)
    allocated: Amounts = field(default_factory=dict)


def pod_amounts(pod: Manifest, gpu_memory_of: Callable[[str], int | None]) -> PodAmounts:
    """Return the resources of a pod; none for a pod that has ended.

    Args:
        pod: The pod.
        gpu_memory_of: Returns the memory of a device of a node, in MiB; None if it is not known.

    Raises:
        ValueError: If a quantity cannot be read, or the memory of a shared device is not known.
    """
    status = pod.get("status") or {}
    phase = status.get("phase")
    if phase not in (_PENDING, _RUNNING):
        return PodAmounts()
    containers = [
        read_amounts((container.get("resources") or {}).get("requests") or {})
        for container in pod["spec"].get("containers") or ()
    ]
    annotations = pod["metadata"].get("annotations") or {}
    requested = total([*containers, _shared_request(annotations)])
    if phase == _PENDING and not _is_scheduled(status):
        return PodAmounts(requested)
    return PodAmounts(requested, total([*containers, _shared_devices(pod, annotations, gpu_memory_of)]))


def resources_status(pods: Iterable[PodAmounts], *, is_preemptible: bool) -> dict[str, dict[str, str]]:
    """Return `resourcesStatus` of a group; empty lists are left out."""
    found = tuple(pods)
    allocated = texts(total(pod.allocated for pod in found))
    made = {
        "allocated": allocated,
        "allocatedNonPreemptible": {} if is_preemptible else allocated,
        "requested": texts(total(pod.requested for pod in found)),
    }
    return {key: value for key, value in made.items() if value}


def is_preemptible(group: Manifest, classes: Mapping[str, Manifest]) -> bool:
    """Return whether a group is preemptible: by its own field, or else by the priority of its class.

    Args:
        group: The PodGroup.
        classes: The PriorityClasses by name.
    """
    spec = spec_of(group)
    written = spec.get("preemptibility")
    if written in (PREEMPTIBLE, NON_PREEMPTIBLE):
        return bool(written == PREEMPTIBLE)
    found = classes.get(spec.get("priorityClassName") or "")
    if found is None:
        found = next((each for each in classes.values() if each.get("globalDefault")), None)
    priority = DEFAULT_PRIORITY if found is None else int(found.get("value") or 0)
    return priority < NON_PREEMPTIBLE_FROM


def _is_scheduled(status: Mapping[str, Any]) -> bool:
    conditions = status.get("conditions") or ()
    return next((c.get("status") == "True" for c in conditions if c["type"] == "PodScheduled"), False)


def _shared_request(annotations: Mapping[str, str]) -> Amounts:
    written = annotations.get(GPU_DEVICES_ANNOTATION)
    count = 1 if written is None else read_quantity(written).nanos // 10**9
    found: dict[str, Quantity] = {}
    if GPU_FRACTION_ANNOTATION in annotations:
        found[GPU_RESOURCE] = read_quantity(annotations[GPU_FRACTION_ANNOTATION]).times(count)
    if GPU_MEMORY_ANNOTATION in annotations:
        found[_GPU_MEMORY] = read_quantity(annotations[GPU_MEMORY_ANNOTATION]).times(count)
    return found


def _shared_devices(
    pod: Manifest, annotations: Mapping[str, str], gpu_memory_of: Callable[[str], int | None]
) -> Amounts:
    """Return the part of a device that KAI's binder gave the pod. For parts of several, it counts one, as in KAI."""
    if annotations.get(RECEIVED_TYPE_ANNOTATION) != RECEIVED_FRACTION:
        return {}
    if GPU_FRACTION_ANNOTATION in annotations:
        return {GPU_RESOURCE: read_quantity(annotations[GPU_FRACTION_ANNOTATION])}
    node = pod["spec"].get("nodeName") or ""
    memory = gpu_memory_of(node)
    if GPU_MEMORY_ANNOTATION not in annotations or not memory:
        raise ValueError(f"the GPU memory of node {node} is unknown")
    # A quantity holds billionths, rounded up.
    return {GPU_RESOURCE: Quantity(-(-int(annotations[GPU_MEMORY_ANNOTATION]) * 10**9 // memory))}
