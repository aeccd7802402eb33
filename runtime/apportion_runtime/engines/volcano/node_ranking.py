"""Volcano's rankings of nodes for pods of one shape: whether a pod fits on idle resources, and the scores of its plugins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.volcano.configuration import SchedulerConfiguration
from apportion_runtime.engines.kube_scheduler.filter_status import FilterStatus
from apportion_runtime.engines.kube_scheduler.node_ranking import NodeRanking, NodeRankings
from apportion_runtime.engines.kube_scheduler.nodes import Nodes, NodeState
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.engines.kube_scheduler.profiles import MOST, Profile
from apportion_runtime.engines.kube_scheduler.scores import fit_score, scores
from apportion_runtime.engines.volcano.future_places import FuturePlaces
from apportion_runtime.engines.volcano.insufficient import insufficient
from apportion_runtime.engines.volcano.node_scores import binpack_score, strategy_score
from apportion_runtime.snapshots.pod_requests import PODS

TOO_MANY_PODS = FilterStatus(("Too many pods",))
_NODE_ORDER = {
    "leastrequested.weight": ("NodeResourcesFit", 1),
    "balancedresource.weight": ("NodeResourcesBalancedAllocation", 1),
    "nodeaffinity.weight": ("NodeAffinity", 2),
    "podaffinity.weight": ("InterPodAffinity", 2),
    "tainttoleration.weight": ("TaintToleration", 3),
    "podtopologyspread.weight": ("PodTopologySpread", 2),
}
_CPU_AND_MEMORY = {"cpu": 1, "memory": 1}


class Rankings:
    """The rankings of a scheduler, kept between its cycles.

    Attributes:
        profile: kube-scheduler's plugins as Volcano's predicates and nodeorder use them.
        places: The places on the nodes.
    """

    def __init__(self, configuration: SchedulerConfiguration, nodes: Nodes) -> None:
        self.profile = _profile(configuration)
        self.places = FuturePlaces(nodes, self.profile)
        self._nodes = nodes
        self._rankings = NodeRankings(nodes, _Criteria(configuration, self.profile, nodes))
        self._ties = np.zeros(0, dtype=np.intp)
        self._epoch = -1

    def of(self, pod: PodFacts) -> NodeRanking | None:
        """Return the current ranking for a pod; None if other pods, or the set of feasible nodes, matter for it."""
        return self._rankings.of(pod, self.profile)

    def best(self, ranking: NodeRanking, without: frozenset[int]) -> int | None:
        """Return the row of the best node; None if no node fits. Among equal nodes, the order is that of `tie_key`.

        Args:
            ranking: The ranking.
            without: Rows that are not considered.
        """
        rows = ranking.best_of(ranking.feasible(0, len(self._nodes.all), without).rows)
        return self.last(rows) if len(rows) else None

    def last(self, rows: npt.NDArray[np.intp]) -> int:
        """Return the row among equal nodes that is selected, in the order of `tie_key`."""
        if len(rows) == 1:
            return int(rows[0])
        if self._epoch != self._nodes.epoch:
            names = [node.name for node in self._nodes.all]
            self._epoch, self._ties = self._nodes.epoch, np.empty(len(names), dtype=np.intp)
            self._ties[sorted(range(len(names)), key=lambda row: tie_key(names[row]))] = np.arange(len(names))
        return int(rows[self._ties[rows].argmax()])


class _Criteria:
    def __init__(self, configuration: SchedulerConfiguration, profile: Profile, nodes: Nodes) -> None:
        self._plugins = configuration.plugins
        self._profile = profile
        self._packed = replace(profile, strategy=MOST)
        self._nodes = nodes

    def lacking(self, pod: PodFacts, node: NodeState) -> FilterStatus | None:
        if not node.has_room:
            return TOO_MANY_PODS
        if fits_on(pod.request, node):
            return None
        names = [
            name for name, value in pod.request.items() if value > (node.free(name) if name in node.allocatable else 0)
        ]
        return insufficient(tuple(names))

    def score(self, pod: PodFacts, node: NodeState) -> float:
        """Return the score as `Session.scored` adds it up."""
        total = 0.0
        for plugin in self._plugins:
            if plugin.name == "nodeorder":
                total += scores(pod, self._profile, [node], self._nodes)[0]
                if most := int(plugin.arguments.get("mostrequested.weight") or 0):
                    total += most * fit_score(pod, node, self._packed)
            elif plugin.name == "resource-strategy-fit":
                total += strategy_score(pod.request, node, plugin.arguments)
            elif plugin.name == "binpack":
                total += binpack_score(pod.request, node, plugin.arguments)
        return total


def tie_key(name: str) -> list[int]:
    """Return the key by which the last of equal nodes is selected."""
    return [-ord(letter) for letter in name]


def fits_on(request: Mapping[str, int], node: NodeState) -> bool:
    """Return whether a pod fits into a node's idle resources."""
    allocatable, requested = node.allocatable, node.requested
    for name, value in request.items():
        # Pods of other schedulers may hold resources that the node no longer has.
        if value > 0 and (name not in allocatable or value > allocatable[name] - requested.get(name, 0)):
            return False
    return True


def fits_later(request: Mapping[str, int], node: NodeState, coming: Mapping[str, int] | None) -> bool:
    """Return whether a pod fits into a node's future idle resources.

    Args:
        request: Its request.
        node: The node.
        coming: The releasing resources of the node, less those of pods pipelined there; None without such pods.
    """
    if coming is None:
        return fits_on(request, node) and node.has_room
    if not has_place(node, coming):
        return False
    for name, value in request.items():
        if value > 0 and value > (node.free(name) if name in node.allocatable else 0) + coming.get(name, 0):
            return False
    return True


def is_candidate(status: FilterStatus | None) -> bool:
    """Return whether evictions may make room on a node. Source: framework/session.go (PredicateForPreemptAction)."""
    return status is None or not status.for_good


def has_place(node: NodeState, coming: Mapping[str, int]) -> bool:
    """Return whether one more pod fits on a node by their number, once its releasing resources are free.

    Source: pkg/scheduler/api/pod_info.go (each pod requests one of the node's `pods`).
    """
    return len(node.pods) + 1 <= node.allocatable.get(PODS, 0) + coming.get(PODS, 0)


def _profile(configuration: SchedulerConfiguration) -> Profile:
    """Return kube-scheduler's plugins as Volcano's predicates and nodeorder use them."""
    plain = Profile()
    filters = plain.filters - {"NodeResourcesFit"} if configuration.plugin("predicates") else frozenset[str]()
    order = configuration.plugin("nodeorder")
    arguments = {} if order is None else order.arguments
    weights = {name: int(arguments.get(key, default)) for key, (name, default) in _NODE_ORDER.items()}
    return replace(
        plain,
        filters=filters,
        weights={name: weight for name, weight in weights.items() if weight},
        resources=_CPU_AND_MEMORY,
        balanced={**_CPU_AND_MEMORY, GPU_RESOURCE: 1},
    )
