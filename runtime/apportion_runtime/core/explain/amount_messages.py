"""The engine's messages about amounts.

Source: pkg/scheduler/api/unschedule_info.go, api/resource_info (DetailedResourceString),
k8s_internal/predicates/maxNodeResources.go.
"""

from __future__ import annotations

from apportion_runtime.core.capacity import OVER_LIMIT, OverCapacity
from apportion_runtime.core.explain.amounts import GIGABYTE, MILLICORES, UNITS, amount, decimals, shortest
from apportion_runtime.core.resources import CPU, GPU, MEMORY, ResourceIndex, is_mig
from apportion_runtime.core.shares import RESOURCES
from apportion_runtime.core.task import Task

_STORAGE = ("ephemeral-storage", "storage")
_LIMIT_NAMES = ("CPU cores", "memory", "GPUs")
_LIMIT_UNITS = ("cores", "GB", "GPUs")
_ASKED_UNITS = ("CPU cores", "GB memory", "GPUs")


def over_capacity_message(over: OverCapacity) -> str:
    """Return the engine's message about a queue's limit or quota that a request would exceed."""
    r = RESOURCES.index(over.resource)
    unit = UNITS[r]
    bound, used = amount(over.bound, unit), amount(over.used, unit)
    if over.reason == OVER_LIMIT:
        name = _LIMIT_UNITS[r]
        return (
            f"{over.queue} quota has reached the allowable limit of {_LIMIT_NAMES[r]}. Limit is {bound} {name}, "
            f"currently {used} {name} allocated and workload requested {amount(over.asked, unit)} {name}"
        )
    asked = shortest(over.asked) if r == GPU else amount(over.asked, unit)
    return (
        f"Non-preemptible workload is over quota. Workload requested {asked} {_ASKED_UNITS[r]}, but {over.queue} quota "
        f"is {bound} {_LIMIT_UNITS[r]}, while {used} {_LIMIT_UNITS[r]} are already allocated for non-preemptible pods. "
        "Use a preemptible workload to go over quota."
    )


def request_of(task: Task, index: ResourceIndex) -> str:
    """Return every resource that a pod requests."""
    vector = task.request
    text = (
        f"GPU: {amount(task.gpu.quota)}, CPU: {amount(float(vector[CPU]), MILLICORES)} (cores), "
        f"memory: {amount(float(vector[MEMORY]), GIGABYTE)} (GB)"
    )
    for r, name in enumerate(index.names):
        if r in (CPU, MEMORY, GPU) or is_mig(name) or vector[r] == 0:
            continue
        shown = amount(float(vector[r]) / GIGABYTE) + " (GB)" if name in _STORAGE else amount(float(vector[r]))
        text += f", {name}: {shown}"
    for name, count in task.gpu.mig:
        text += f", mig {name}: {count}"
    return text


def largest_node_message(task: Task, index: ResourceIndex, r: int, most: float) -> str:
    """Return the engine's message about a pod that requests more of a resource than any node provides."""
    name, unit = index.names[r], ""
    if r == GPU:
        name = "GPU"
    elif r == CPU:
        name, unit, most = "CPU", " cores", most / MILLICORES
    elif r == MEMORY or name in _STORAGE:
        unit, most = " GB", most / GIGABYTE
    else:
        # The engine has no amount for other resources, and reports that there are none.
        most = 0.0
    there = (
        f"No node in the default node-pool has {name} resources"
        if most == 0
        else f"Max {name} resources available in a single node in the default node-pool is topped at "
        f"{decimals(most)}{unit}"
    )
    return f"The pod {task.pod.namespace}/{task.pod.name} requires {request_of(task, index)}. {there}"
