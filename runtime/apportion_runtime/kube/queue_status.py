"""The status of queues, as KAI's queue controller calculates it: sums over their pod groups and child queues.

Source: pkg/queuecontroller/controllers (resource_updater, childqueues_updater) at d5bc503a. The engine sums the current
status of child queues, and converges to the same amounts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apportion_runtime.admission.objects import spec_of
from apportion_runtime.kube.cluster import Key, Manifest
from apportion_runtime.kube.quantity_sums import Amounts, RunningQuantity, read_amounts, texts, total

AMOUNTS = ("allocated", "allocatedNonPreemptible", "requested")
"""The sums of a status, by field."""

Sums = tuple[Amounts, ...]
"""The quantities of `AMOUNTS`, in their order."""


def group_sums(status: Mapping[str, Any]) -> Sums:
    """Return the sums of a PodGroup's `resourcesStatus`. Raises `ValueError` if a quantity cannot be read."""
    return tuple(read_amounts(status.get(field) or {}) for field in AMOUNTS)


def queue_sums(groups: Sequence[Sums]) -> Sums:
    """Return the sums of a queue's own pod groups, in the order of the groups."""
    # The engine adds the sum to the next list, whose suffixes the result has.
    return _total(groups[::-1])


class RunningSums:
    """The sums of a queue's own pod groups, which change one at a time: those of `queue_sums`."""

    def __init__(self) -> None:
        self._groups: dict[Key, Sums] = {}
        self._running: tuple[dict[str, RunningQuantity], ...] = tuple({} for _ in AMOUNTS)

    def put(self, group: Key, sums: Sums) -> None:
        """Add a pod group, or replace its sums."""
        if (before := self._groups.get(group)) is not None:
            self._count(before, -1)
        self._groups[group] = sums
        self._count(sums, 1)

    def drop(self, group: Key) -> None:
        """Remove a pod group."""
        self._count(self._groups.pop(group), -1)

    @property
    def is_empty(self) -> bool:
        """Whether the queue has no pod groups."""
        return not self._groups

    def total(self) -> Sums:
        """Return the sums, regardless of the order in which the pod groups were added."""
        if any(one.is_mixed for running in self._running for one in running.values()):
            return queue_sums([self._groups[key] for key in sorted(self._groups)])
        return tuple({name: one.total for name, one in running.items()} for running in self._running)

    def _count(self, sums: Sums, by: int) -> None:
        for running, amounts in zip(self._running, sums, strict=True):
            for name, amount in amounts.items():
                one = running.setdefault(name, RunningQuantity())
                one.count(amount, by)
                if one.is_empty:
                    del running[name]


def queue_statuses(queues: Iterable[Manifest], own: Mapping[str, Sums]) -> dict[str, Any]:
    """Return the status of each queue by name; empty fields are left out.

    Args:
        queues: The Queue objects. The parents of a cycle have the sums of their own pod groups and of queues outside it.
        own: The sums of the pod groups of each queue that has some.
    """
    ordered = sorted(queues, key=lambda queue: str(queue["metadata"]["name"]))
    children: dict[str, list[str]] = {queue["metadata"]["name"]: [] for queue in ordered}
    for queue in ordered:
        parent = spec_of(queue).get("parentQueue")
        if parent in children:
            children[parent].append(queue["metadata"]["name"])
    sums: dict[str, Sums] = {}
    for name in _leaves_first(children):
        below = [sums[child] for child in children[name] if child in sums]
        sums[name] = _total([*([own[name]] if name in own else []), *reversed(below)])
    return {name: _status(children[name], sums[name]) for name in children}


def _total(all_of: Sequence[Sums]) -> Sums:
    return tuple(total(each[at] for each in all_of) for at in range(len(AMOUNTS)))


def _status(children: list[str], sums: Sums) -> dict[str, Any]:
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
