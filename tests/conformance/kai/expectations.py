"""Comparison of a session with a table's expectations, as `test_utils.MatchExpectedAndRealTasks`, but stricter.

The engine compares a group only with the very string expected, and new groups have random names. Here pods whose
expected groups are equal must share a device, and those whose expected groups differ must not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from apportion_runtime.cases.reader import amounts
from apportion_runtime.core.explain.fit_errors import detailed_text
from apportion_runtime.core.node_entry import accepted_gpus
from apportion_runtime.core.resources import CPU, GPU, MEMORY
from apportion_runtime.core.session import Session
from apportion_runtime.core.status import ACTIVE_USED_STATUSES, ALLOCATED_STATUSES, BY_NAME, NAMES
from apportion_runtime.core.task import NO_NODE, Task

Case = Mapping[str, Any]


def mismatches(session: Session, case: Case, *, rebuilt: bool, compare_groups: bool = True) -> Iterator[str]:
    """Yield each difference between a session and what its case expects.

    Args:
        session: After its actions, or rebuilt from its results.
        case: The case.
        rebuilt: Whether the session was rebuilt; start times are then not compared.
        compare_groups: Whether expected groups are comparable.
    """
    expected = case["expected"]
    held: list[tuple[Task, Case]] = []
    for name, want in (expected.get("jobs") or {}).items():
        job = session.jobs[name]
        tasks = list(job.tasks.values())
        for task in tasks:
            yield from _of_task(session, task, want)
            held.append((task, want))
        yield from _sums(name, tasks, want)
        if not rebuilt and BY_NAME[want["status"]] & ALLOCATED_STATUSES:
            yield from _of_start(session, name, want)
        if want.get("error_message"):
            said = detailed_text(job.fit_errors)
            if said != want["error_message"]:
                yield f"{name} says {said!r}, not {want['error_message']!r}"
    for uid, want in (expected.get("tasks") or {}).items():
        for job in session.jobs.values():
            if uid in job.tasks:
                yield from _of_task(session, job.tasks[uid], want)
                yield from _sums(uid, [job.tasks[uid]], want)
                held.append((job.tasks[uid], want))
    if compare_groups:
        yield from _of_groups(held)
    for name, want in (expected.get("nodes") or {}).items():
        yield from _of_node(session, name, want)


def _of_task(session: Session, task: Task, want: Case) -> Iterator[str]:
    if task.status != BY_NAME[want["status"]]:
        yield f"{task.uid} is {NAMES[task.status]}, not {want['status']}"
    node = session.nodes.names[task.node] if task.node != NO_NODE else ""
    if want.get("node") and node != want["node"]:
        yield f"{task.uid} is on {node or 'no node'}, not {want['node']}"
    zones = [zone for zone, _ in task.numa]
    if want.get("numa_zones") is not None and sorted(zones) != sorted(want["numa_zones"]):
        yield f"{task.uid} is in zones {zones}, not {want['numa_zones']}"
    if want.get("numa_zones_none") and zones:
        yield f"{task.uid} is in zones {zones}, not in any"


def _sums(name: str, tasks: list[Task], want: Case) -> Iterator[str]:
    asked = sum(task.gpu.gpus for task in tasks)
    if asked != want.get("gpus_required", 0):
        yield f"{name} asks for {asked} GPUs, not {want.get('gpus_required', 0)}"
    accepted = sum(accepted_gpus(task) for task in tasks)
    if want.get("gpus_accepted") and accepted != want["gpus_accepted"]:
        yield f"{name} is charged {accepted} GPUs, not {want['gpus_accepted']}"
    for field, resource in (("milli_cpu_required", CPU), ("memory_required", MEMORY)):
        total = sum(float(task.request[resource]) for task in tasks)
        if want.get(field) and total != want[field]:
            yield f"{name}: {field} is {total}, not {want[field]}"


def _of_start(session: Session, name: str, want: Case) -> Iterator[str]:
    started = session.jobs[name].last_start
    if started is None:
        yield f"{name} has no start time"
    elif want.get("last_start_older_than_seconds") is not None:
        age = session.snapshot.now - started
        if age < want["last_start_older_than_seconds"]:
            yield f"{name} started {age} s ago"


def _of_groups(held: list[tuple[Task, Case]]) -> Iterator[str]:
    actual_of: dict[tuple[int, str], str] = {}
    expected_of: dict[tuple[int, str], str] = {}
    for task, want in held:
        groups = want.get("gpu_groups") or ()
        counts = (
            task.status & ACTIVE_USED_STATUSES and task.received_fraction and not want.get("dont_validate_gpu_group")
        )
        if not counts or len(groups) != len(task.gpu_groups):
            continue
        for expected, actual in zip(groups, task.gpu_groups, strict=True):
            if actual_of.setdefault((task.node, expected), actual) != actual:
                yield f"{task.uid} shares no device with the others of group {expected}"
            if expected_of.setdefault((task.node, actual), expected) != expected:
                yield f"{task.uid} shares a device with group {expected_of[task.node, actual]}"


def _of_node(session: Session, name: str, want: Case) -> Iterator[str]:
    i = session.nodes.index[name]
    for field, matrix in (("idle_gpus", session.nodes.idle), ("releasing_gpus", session.nodes.releasing)):
        if float(matrix[i, GPU]) != want.get(field, 0):
            yield f"{name}: {field} is {matrix[i, GPU]}, not {want.get(field, 0)}"
    for zone, resources in (want.get("numa_zones_available") or {}).items():
        for resource, text in resources.items():
            available = session.numa.available(i, int(zone), resource)
            if available != amounts({resource: text})[resource]:
                yield f"{name}: zone {zone} has {available} {resource} left, not {text}"
