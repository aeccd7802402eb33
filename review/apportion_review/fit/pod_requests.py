"""The requests of a workload's pods, and the workload with lower requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from apportion_api.kai.names import GPU_FRACTION_ANNOTATION
from apportion_compiler.plain_objects import Manifest, annotations_of, mapping
from apportion_compiler.workload_shapes import pod_sets
from apportion_policy.quantity import cpu_text, memory_text
from apportion_review.fit.task_groups import Group, change_task_groups
from apportion_runtime.snapshots.pod_requests import CPU, GPUS, MEMORY, amount

_UNITS = {CPU: 1000, MEMORY: 1024**3}
"""Steps of the search for a lower request: a core, and a GiB."""


def gpus_of_pod(template: Mapping[str, object]) -> int:
    """Return the GPUs that a pod of a template requests, in thousandths; 0 if they are invalid."""
    total = 0
    try:
        total += round(1000 * float(annotations_of(template).get(GPU_FRACTION_ANNOTATION) or 0))
        for resources in _resources(template):
            held = {**mapping(resources, "limits"), **mapping(resources, "requests")}
            total += sum(1000 * amount(name, str(held[name])) for name in GPUS & held.keys())
    except ValueError:
        return 0
    return total


def gpus_of_workload(workload: Manifest) -> int:
    """Return the GPUs that all its pods request, in thousandths."""
    return sum(each.count * gpus_of_pod(each.template) for each in pod_sets(workload))


def resource_of(workload: Manifest, family: str) -> str:
    """Return the resource of a family (`gpu`, `cpu`, `memory`) by its name in containers; empty if none requests it."""
    names = GPUS if family == "gpu" else frozenset((family,))
    for each in pod_sets(workload):
        for resources in _resources(each.template):
            found = sorted(names & {*mapping(resources, "requests"), *mapping(resources, "limits")})
            if found:
                return found[0]
    return ""


def largest_request(workload: Manifest, resource: str) -> int:
    """Return the largest request of a container, in whole GPUs, cores or GiB; 0 if it is less than one."""
    unit = _UNITS.get(resource, 1)
    found = [0]
    for each in pod_sets(workload):
        for resources in _resources(each.template):
            held = {**mapping(resources, "limits"), **mapping(resources, "requests")}
            if resource in held:
                try:
                    found.append(amount(resource, str(held[resource])) // unit)
                except ValueError:
                    return 0
    return max(found)


def with_request(workload: Manifest, resource: str, most: int) -> Manifest:
    """Return a workload whose containers request at most some GPUs, cores or GiB each."""
    made = cast("dict[str, object]", _copied(workload))
    unit = _UNITS.get(resource, 1)
    for each in pod_sets(made):
        for resources in _resources(each.template):
            for side in ("requests", "limits"):
                held = resources.get(side)
                if isinstance(held, dict) and resource in held and amount(resource, str(held[resource])) > most * unit:
                    held[resource] = request_text(resource, most)
        annotations = mapping(each.template, "metadata").get("annotations")
        if isinstance(annotations, dict):
            marks = cast("dict[str, object]", annotations)
            change_task_groups(marks, lambda group: _with_lower_request(group, resource, most))
    return made


def _with_lower_request(group: Group, resource: str, most: int) -> Group:
    """Return a task group whose pods request at most some GPUs, cores or GiB each."""
    requests = mapping(group, "minResource")
    try:
        is_lower = resource in requests and amount(resource, str(requests[resource])) > most * _UNITS.get(resource, 1)
    except ValueError:
        return group
    return {**group, "minResource": {**requests, resource: request_text(resource, most)}} if is_lower else group


def request_text(resource: str, most: int) -> str:
    """Return a request as written in a manifest."""
    if resource == CPU:
        return cpu_text(most * 1000)
    return memory_text(most * _UNITS[MEMORY]) if resource == MEMORY else str(most)


def _resources(template: Mapping[str, object]) -> Iterator[dict[str, object]]:
    containers = mapping(template, "spec").get("containers")
    for container in containers if isinstance(containers, list) else ():
        resources = mapping(container).get("resources")
        if isinstance(resources, dict):
            yield cast("dict[str, object]", resources)


def _copied(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list | tuple) else value
