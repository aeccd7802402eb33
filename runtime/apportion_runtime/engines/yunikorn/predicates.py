"""Whether a pod may run on a node apart from its resources, which the core counts: kube-scheduler's filters.

Source: yunikorn-k8shim pkg/plugin/predicates/predicate_manager.go at 23b6b47f.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from apportion_runtime.engines.kube_scheduler import Profile
from apportion_runtime.engines.kube_scheduler.equivalence import EquivalenceClass, alike_on_nodes
from apportion_runtime.engines.kube_scheduler.filters import Filters
from apportion_runtime.engines.kube_scheduler.nodes import Nodes
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.engines.yunikorn.allocations import Allocation
from apportion_runtime.engines.yunikorn.nodes import Node

_DEFAULT = Profile()
_PROFILE = replace(_DEFAULT, filters=_DEFAULT.filters - {"NodeResourcesFit"})


class Filtered:
    """kube-scheduler's filters as YuniKorn's predicates.

    Args:
        nodes: The nodes with their pods.
        facts: The facts of the pods of all requests, by key.
    """

    def __init__(self, nodes: Nodes, facts: Mapping[str, PodFacts]) -> None:
        self._nodes = nodes
        self._facts = facts
        self._filters: dict[str, Filters] = {}
        self._lasting: dict[EquivalenceClass, Filters] = {}

    def reset(self) -> None:
        """Discard results that depend on the pods of the nodes."""
        self._filters.clear()

    def fits(self, request: Allocation, node: Node) -> str | None:
        """Return why a pod may not run on a node, or None."""
        state = self._nodes.get(node.name)
        if state is None:
            return "node(s) do not exist"
        kind = None if self._nodes.has_anti_affinity else alike_on_nodes(self._facts[request.key])
        if kind is None:
            status = self._of(request).filter_status(state)
        else:
            status = self._of_class(kind, request).fixed_status(state)
        return None if status is None else status.reasons[0]

    def fits_without(self, request: Allocation, node: Node, victims: Sequence[Allocation], start: int) -> int | None:
        """Return the index of the last victim that must leave a node for a pod, from `start`; None if none suffices."""
        state = self._nodes.get(node.name)
        if state is None:
            return None
        gone: list[PodFacts] = []
        try:
            for index, victim in enumerate(victims):
                facts = self._facts.get(victim.key)
                if facts is not None and facts.uid in state.pods:
                    state.remove(facts)
                    gone.append(facts)
                if (
                    index >= start
                    and Filters(self._facts[request.key], _PROFILE, self._nodes).filter_status(state) is None
                ):
                    return index
            return None
        finally:
            for facts in gone:
                state.add(facts)

    def _of_class(self, kind: EquivalenceClass, request: Allocation) -> Filters:
        """Return the filters of a class of pods for which other pods do not matter."""
        known = self._lasting.get(kind)
        if known is None:
            known = self._lasting[kind] = Filters(self._facts[request.key], _PROFILE, self._nodes)
        return known

    def _of(self, request: Allocation) -> Filters:
        known = self._filters.get(request.key)
        if known is None:
            known = self._filters[request.key] = Filters(self._facts[request.key], _PROFILE, self._nodes)
        return known
