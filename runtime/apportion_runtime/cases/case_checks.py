"""Validation of cases: every fault is one clause that names the object and the key.

Unknown keys are ignored; a null key is absent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from apportion_runtime.core.status import BY_NAME

ACTIONS = ("allocate", "consolidation", "reclaim", "preempt", "stalegangeviction")
"""Every action, in the engine's order."""


class CaseError(ValueError):
    """A case that is not in the format: one clause without a full stop."""


def checked(document: object) -> dict[str, Any]:
    """Return a case with its nulls left out and the format's zeros filled in.

    Raises:
        CaseError: If it is not a case.
    """
    case = _object(_without_nulls(document), "a case", _CASE, needed=("nodes", "queues", "jobs"))
    case = {"actions": list(ACTIONS), **case}
    for action in case["actions"]:
        if action not in ACTIONS:
            raise CaseError(f"unknown action {action!r}; supported actions are {', '.join(ACTIONS)}")
    nodes = _named(case["nodes"], "node", _node)
    departments = _named(case.get("departments", ()), "department", _queue)
    queues = _named(case["queues"], "queue", _queue)
    jobs = _named(case["jobs"], "job", _job)
    _placed(jobs, {node["name"] for node in nodes})
    _queued(case, jobs, queues, departments)
    for topology in case.get("topologies", ()):
        _object(topology, "a topology", _TOPOLOGY, needed=("name", "levels"))
    return {**case, "nodes": nodes, "departments": departments, "queues": queues, "jobs": jobs}


Fields = Mapping[str, Callable[[object], bool]]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return _is_integer(value) and isinstance(value, int) and value >= 0


def _is_amount(value: object) -> bool:
    return _is_number(value) and isinstance(value, int | float) and value >= 0


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_map(value: object) -> bool:
    return isinstance(value, dict)


def _is_text_map(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def _is_count_map(value: object) -> bool:
    return isinstance(value, dict) and all(_is_count(item) for item in value.values())


_KINDS: Mapping[Callable[[object], bool], str] = {
    _is_number: "a number",
    _is_integer: "an integer",
    _is_count: "a non-negative integer",
    _is_amount: "a non-negative number",
    _is_text: "a string",
    _is_flag: "true or false",
    _is_list: "a list",
    _is_texts: "a list of strings",
    _is_map: "an object",
    _is_text_map: "an object with string values",
    _is_count_map: "an object with non-negative integer values",
}

_CASE: Fields = {
    "actions": _is_texts,
    "nodes": _is_list,
    "queues": _is_list,
    "departments": _is_list,
    "jobs": _is_list,
    "topologies": _is_list,
    "dra": _is_map,
    "mocks": _is_map,
    "rounds_until_match": _is_count,
    "rounds_after_match": _is_count,
    "staleness_grace_seconds": _is_number,
    "auto_default_department": _is_flag,
    "disable_default_department": _is_flag,
}
_NODE: Fields = {
    "gpus": _is_count,
    "cpus": _is_amount,
    "memory_bytes": _is_amount,
    "gpu_memory_mib": _is_count,
    "max_pods": _is_count,
    "mig_strategy": _is_text,
    "mig_instances": _is_count_map,
    "gpu_memory_synced": _is_flag,
    "labels": _is_text_map,
    "numa": _is_map,
}
_NUMA: Fields = {"policy": _is_text, "scope": _is_text, "zones": _is_list}
_ZONE: Fields = {"id": _is_text, "available": _is_text_map, "allocatable": _is_text_map}
_QUEUE: Fields = {
    "parent": _is_text,
    "priority": _is_integer,
    "deserved_gpus": _is_number,
    "limit_gpus": _is_number,
    "gpu_over_quota_weight": _is_number,
    "deserved_cpu_millis": _is_number,
    "limit_cpu_millis": _is_number,
    "deserved_memory_mb": _is_number,
    "limit_memory_mb": _is_number,
    "reclaim_min_runtime_seconds": _is_number,
    "v1": _is_flag,
}
_JOB: Fields = {
    "queue": _is_text,
    "namespace": _is_text,
    "priority": _is_integer,
    "preemptibility": _is_text,
    "gpus_per_task": _is_amount,
    "gpu_fraction_devices_per_task": _is_count,
    "gpu_memory_mib_per_task": _is_count,
    "cpus_per_task": _is_amount,
    "memory_bytes_per_task": _is_amount,
    "best_effort": _is_flag,
    "min_available": _is_count,
    "sub_groups": _is_map,
    "age_minutes": _is_integer,
    "preemption_delay_seconds": _is_number,
    "staleness_grace_period_seconds": _is_number,
    "stale_seconds": _is_number,
    "qos_class": _is_text,
    "delete_job_in_test": _is_flag,
    "tasks": _is_list,
}
_TASK: Fields = {
    "state": _is_text,
    "node": _is_text,
    "gpu_groups": _is_texts,
    "sub_group": _is_text,
    "gpus": _is_count,
    "priority": _is_integer,
    "node_affinity_names": _is_texts,
    "pod_affinity_labels": _is_text_map,
    "pod_affinity_topology_key": _is_text,
    "pod_anti_affinity_topology_key": _is_text,
    "mig_instances": _is_count_map,
    "legacy_mig": _is_flag,
    "resource_claim_names": _is_texts,
    "resource_claim_templates": _is_text_map,
    "pvc_names": _is_texts,
    "annotations": _is_text_map,
}
_GROUP: Fields = {
    "name": _is_text,
    "min_sub_group": _is_count,
    "topology_constraint": _is_map,
    "groups": _is_list,
    "pod_sets": _is_list,
}
_POD_SET: Fields = {"name": _is_text, "min_available": _is_count, "topology_constraint": _is_map}
_CONSTRAINT: Fields = {"topology": _is_text, "required_level": _is_text, "preferred_level": _is_text}
_TOPOLOGY: Fields = {"name": _is_text, "levels": _is_texts}


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _object(value: object, what: str, fields: Fields, *, needed: Iterable[str] = ()) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CaseError(f"{what} must be an object, not {_shown(value)}")
    for key in needed:
        if key not in value:
            raise CaseError(f"{what} has no {key}")
    for key, is_right in fields.items():
        if key in value and not is_right(value[key]):
            raise CaseError(f"{key} of {what} must be {_KINDS[is_right]}, not {_shown(value[key])}")
    return value


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _named(
    values: Iterable[object], kind: str, check: Callable[[dict[str, Any], str], dict[str, Any]]
) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for value in values:
        one = _object(value, f"a {kind}", {"name": _is_text}, needed=("name",))
        name = one["name"]
        if name in found:
            raise CaseError(f"more than one {kind} is named {name}")
        found[name] = check(one, f"{kind} {name}")
    return list(found.values())


def _node(node: dict[str, Any], what: str) -> dict[str, Any]:
    _object(node, what, _NODE)
    if "numa" in node:
        numa = _object(node["numa"], f"numa of {what}", _NUMA, needed=("zones",))
        for zone in numa["zones"]:
            _object(zone, f"a zone of {what}", _ZONE, needed=tuple(_ZONE))
    return {"gpus": 0, **node}


def _queue(queue: dict[str, Any], what: str) -> dict[str, Any]:
    return {"deserved_gpus": 0, "limit_gpus": 0, "gpu_over_quota_weight": 0, **_object(queue, what, _QUEUE)}


def _job(job: dict[str, Any], what: str) -> dict[str, Any]:
    job = {"priority": 0, "gpus_per_task": 0, **_object(job, what, _JOB, needed=("queue", "tasks"))}
    if job.get("preemptibility", "") not in ("", "preemptible", "non-preemptible"):
        raise CaseError(f"preemptibility of {what} must be preemptible or non-preemptible, not {job['preemptibility']}")
    pod_sets = {"default", *_pod_sets(job["sub_groups"], what)} if "sub_groups" in job else {"default"}
    for number, task in enumerate(job["tasks"]):
        one = f"task {number} of {what}"
        _object(task, one, _TASK, needed=("state",))
        if task["state"] not in BY_NAME:
            raise CaseError(
                f"the state {task['state']!r} of {one} is unknown; supported states are {', '.join(BY_NAME)}"
            )
        if task.get("sub_group", "") not in pod_sets | {""}:
            raise CaseError(f"{one} belongs to sub-group {task['sub_group']}, which does not exist")
    return job


def _pod_sets(group: object, what: str) -> set[str]:
    found: set[str] = set()
    tree = _object(group, f"a sub-group of {what}", _GROUP)
    _constraint(tree, what)
    for below in tree.get("groups", ()):
        found |= _pod_sets(below, what)
    for pod_set in tree.get("pod_sets", ()):
        _constraint(_object(pod_set, f"a pod set of {what}", _POD_SET, needed=("name", "min_available")), what)
        found.add(pod_set["name"])
    return found


def _constraint(part: Mapping[str, Any], what: str) -> None:
    if "topology_constraint" in part:
        _object(part["topology_constraint"], f"a topology constraint of {what}", _CONSTRAINT)


def _placed(jobs: Iterable[Mapping[str, Any]], nodes: set[str]) -> None:
    for job in jobs:
        for number, task in enumerate(job["tasks"]):
            node = task.get("node", "")
            if node and node not in nodes:
                raise CaseError(f"task {number} of job {job['name']} is on node {node}, which does not exist")


def _queued(
    case: Mapping[str, Any],
    jobs: Iterable[Mapping[str, Any]],
    queues: Iterable[Mapping[str, Any]],
    departments: Iterable[Mapping[str, Any]],
) -> None:
    above = {queue["name"] for queue in queues} | {department["name"] for department in departments}
    for job in jobs:
        if job["queue"] not in above:
            raise CaseError(f"job {job['name']} belongs to queue {job['queue']}, which does not exist")
    if not case.get("departments") and not case.get("disable_default_department"):
        return
    for queue in queues:
        if queue.get("parent") and queue["parent"] not in above:
            raise CaseError(f"the parent {queue['parent']} of queue {queue['name']} does not exist")
