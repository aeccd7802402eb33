"""The status of queues, as KAI's queue controller calculates it: sums over their pod groups and child queues.

Source: pkg/queuecontroller/controllers (resource_updater, childqueues_updater) at d5bc503a. The engine sums the current
status of child queues, and converges to the same amounts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from apportion_runtime.kube.cluster import Manifest
from apportion_runtime.kube.quantity_sums import Amounts, read_amounts, texts, total

AMOUNTS = ("allocated", "allocatedNonPreemptible", "requested")
"""The sums of a status, by field."""

_Sums = tuple[Amounts, ...]


def queue_statuses(queues: Iterable[Manifest], groups: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Return the status of each queue by name; empty fields are left out.

    Args:
        queues: The Queue objects. The parents of a cycle have the sums of their own pod groups and of queues outside it.
        groups: The queue of each PodGroup, and its `resourcesStatus`.

    Raises:
        ValueError: If a quantity cannot be read.
    """
    ordered = sorted(queues, key=lambda queue: str(queue["metadata"]["name"]))
    children: dict[str, list[str]] = {queue["metadata"]["name"]: [] for queue in ordered}
    for queue in ordered:
        parent = queue["spec"].get("parentQueue")
        if parent in children:
            children[parent].append(queue["metadata"]["name"])
    own: dict[str, list[_Sums]] = {name: [] for name in children}
    for name, amounts in groups:
        if name in own:
            own[name].append(tuple(read_amounts(amounts.get(field) or {}) for field in AMOUNTS))
    sums: dict[str, _Sums] = {}
    for name in _leaves_first(children):
        below = [sums[child] for child in children[name] if child in sums]
        # The engine adds the sum to the next list, whose suffixes the result has.
        lists = [*reversed(own[name]), *reversed(below)]
        sums[name] = tuple(total(each[at] for each in lists) for at in range(len(AMOUNTS)))
    return {name: _status(children[name], sums[name]) for name in children}


def _status(children: list[str], sums: _Sums) -> dict[str, Any]:
    made: dict[str, Any] = {field: texts(amounts) for field, amounts in zip(AMOUNTS, sums, strict=True)}
    made["childQueues"] = children
    return {key: value for key, value in made.items() if value}


def _leaves_first(children: Mapping[str, list[str]]) -> list[str]:
    """Return all queues, each after its children; a cycle is entered at any of its queues."""
    found: list[str] = []
    seen: set[str] = set()
    for start in children:
        stack = [(start, iter(children[start]))] if start not in seen else []
        seen.add(start)
        while stack:
            name, rest = stack[-1]
            child = next((each for each in rest if each not in seen), None)
            if child is None:
                found.append(name)
                stack.pop()
            else:
                seen.add(child)
                stack.append((child, iter(children[child])))
    return found
