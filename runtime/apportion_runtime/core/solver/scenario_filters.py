"""Scenario filters: quick checks that drop scenarios which cannot make enough room.

They compare sums of GPUs and pass everything else. Their quirks affect decisions: a scenario that a filter drops is never
simulated.

Source: pkg/scheduler/actions/common/solvers/accumulated_scenario_filters/.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Protocol, TypeVar

import numpy as np

from apportion_runtime.core.nodes import Mask
from apportion_runtime.core.resources import Vector
from apportion_runtime.core.running_totals import added
from apportion_runtime.core.session import Session
from apportion_runtime.core.solver.scenario import Scenario
from apportion_runtime.core.sub_groups import PodSet, SubGroupSet
from apportion_runtime.core.task import NO_NODE, Task

K = TypeVar("K", bound=Hashable)
_FEW = 8
"""Up to this number, finding the highest one by one is faster than sorting."""


class Filter(Protocol):
    """Decides whether a growing scenario is worth simulating."""

    def passes(self, scenario: Scenario) -> bool:
        """Update the filter with the new victims of the scenario, and return whether it passes."""
        ...


def filters_for(session: Session, scenario: Scenario, feasible: Mask, free_gpus: Vector | None = None) -> list[Filter]:
    """Return the filters of a search, in the engine's order.

    Args:
        session: The session.
        scenario: The scenario with which the search begins.
        feasible: Nodes that are considered without any eviction.
        free_gpus: Devices free on each node before the evictions; None if nothing is evicted yet.
    """
    found: list[Filter] = []
    if any(task.pod.node_affinity is not None for task in scenario.pending):
        found.append(NodeAffinities(session, feasible))
    constrained = _constrained(scenario.preemptor.root)
    if constrained:
        found.append(TopologyGpus(session, constrained))
    found.append(IdleGpus(session.nodes.free_gpus() if free_gpus is None else free_gpus.copy(), scenario))
    return found


def _match(required: Sequence[float], holders: Sequence[K], capacity: Callable[[K], float]) -> bool:
    """Assign requests, the largest first, to the first holder with room; holders are in falling order."""
    taken: dict[K, float] = {}
    for amount in required:
        if amount == 0:
            return True
        for holder in holders:
            total = capacity(holder)
            if total < amount:
                return False
            if total - taken.get(holder, 0.0) >= amount:
                taken[holder] = taken.get(holder, 0.0) + amount
                break
        else:
            return False
    return True


def _highest(numbers: Vector, n: int) -> list[int]:
    """Return the indices of the highest numbers, the first of equal ones first."""
    if n > _FEW:
        sorted_all: list[int] = np.argsort(-numbers, kind="stable")[:n].tolist()
        return sorted_all
    left, found = numbers.copy(), list[int]()
    for _ in range(min(n, len(left))):
        found.append(int(left.argmax()))
        left[found[-1]] = -np.inf
    return found


class IdleGpus:
    """Whether the nodes with the most free GPUs after the evictions could hold the pods one by one."""

    def __init__(self, free: Vector, scenario: Scenario) -> None:
        self._free = free
        n_wanted = len(scenario.pending)
        # At most one node per pod is relevant; ties are broken by node name.
        self._best: list[int] = _highest(self._free, n_wanted)
        self._seen: set[str] = set()
        self._required = sorted((task.gpu.quota for task in scenario.pending), reverse=True)
        self._count(scenario)

    def passes(self, scenario: Scenario) -> bool:
        """Return whether the scenario passes."""
        self._count(scenario)
        return _match(self._required, self._best, self._free.__getitem__)

    def _count(self, scenario: Scenario) -> None:
        for task in scenario.victims():
            if task.node != NO_NODE and task.uid not in self._seen:
                self._seen.add(task.uid)
                self._free_by(task)

    def _free_by(self, task: Task) -> None:
        if not self._best:
            return
        least = self._free[self._best[-1]]
        self._free[task.node] += task.accepted_gpu.quota
        if self._free[task.node] > least:
            self._insert(task.node)

    def _insert(self, node: int) -> None:
        best, free = self._best, self._free
        # The engine searches for the position in a list that may still contain the node with its former number.
        low, high = 0, len(best)
        while low < high:
            middle = (low + high) // 2
            if free[best[middle]] > free[node]:
                low = middle + 1
            else:
                high = middle
        if node in best:
            at = best.index(node)
            if low < at:
                best.insert(low, best.pop(at))
            return
        if low >= len(best):
            best[-1] = node if low == len(best) - 1 else best[-1]
            return
        best.insert(low, node)
        best.pop()


class TopologyGpus:
    """Whether the domains with the most free GPUs could hold the parts that must be placed together."""

    def __init__(self, session: Session, parts: Sequence[SubGroupSet]) -> None:
        self._required: dict[tuple[str, str], list[float]] = {}
        self._domains: dict[tuple[str, str], dict[str, float]] = {}
        self._of_node: dict[int, list[tuple[tuple[str, str], str]]] = {}
        self._seen: set[str] = set()
        for part in parts:
            assert part.constraint is not None
            key = (part.constraint.topology, part.constraint.required)
            asked = added(task.gpu.quota for pod_set in part.pod_sets() for task in pod_set.tasks.values())
            self._required.setdefault(key, []).append(asked)
            self._domains.setdefault(key, {})
        nodes = session.nodes
        free_gpus = nodes.free_gpus()
        for i, node in enumerate(nodes.nodes):
            free = float(free_gpus[i])
            for key in self._domains:
                value = node.labels.get(key[1], "")
                if value:
                    self._domains[key][value] = self._domains[key].get(value, 0.0) + free
                    self._of_node.setdefault(i, []).append((key, value))

    def passes(self, scenario: Scenario) -> bool:
        """Return whether the scenario passes."""
        for task in scenario.victims():
            if task.node != NO_NODE and task.uid not in self._seen:
                self._seen.add(task.uid)
                for key, value in self._of_node.get(task.node, ()):
                    self._domains[key][value] += task.accepted_gpu.quota
        for key, asked in self._required.items():
            free = self._domains[key]
            order = sorted(free, key=lambda value: (-free[value], value))
            if not _match(sorted(asked, reverse=True), order, free.__getitem__):
                return False
        return True


class NodeAffinities:
    """Whether each pod that requests certain nodes has one among those that are considered."""

    def __init__(self, session: Session, feasible: Mask) -> None:
        self._session = session
        self._nodes = feasible.copy()

    def passes(self, scenario: Scenario) -> bool:
        """Return whether the scenario passes."""
        self._nodes[[task.node for task in scenario.victims() if task.node != NO_NODE]] = True
        for task in scenario.pending:
            if task.pod.node_affinity is not None:
                mask = self._session.predicates.affinity_mask(task)
                if not (mask & self._nodes).any():
                    return False
        return True


def _constrained(part: SubGroupSet | PodSet) -> list[SubGroupSet]:
    if isinstance(part, PodSet):
        return []
    own = [part] if part.constraint is not None and part.constraint.required else []
    return own + [found for group in part.groups for found in _constrained(group)]
