"""The scores of nodes by koord-scheduler: those of kube-scheduler, NodeResourcesFitPlus and NodeNUMAResource.

LoadAwareScheduling, DeviceShare, Reservation and Coscheduling give every node the same score on a cluster without usage
metrics, devices, reservations and network topologies of gangs.

Source: pkg/scheduler/plugins/noderesourcefitplus, nodenumaresource/scoring.go (scoreWithAmplifiedCPUs) at a7a1b76b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apportion_runtime.engines.koordinator.configuration import Configuration
from apportion_runtime.engines.kube_scheduler import Nodes, NodeState, PodFacts
from apportion_runtime.engines.kube_scheduler.filter_status import FilterStatus
from apportion_runtime.engines.kube_scheduler.filters import resources_lacking
from apportion_runtime.engines.kube_scheduler.profiles import LEAST, MOST
from apportion_runtime.engines.kube_scheduler.scores import evenness, resource_score, scores
from apportion_runtime.snapshots.pod_requests import CPU, MEMORY

_MOST = 100


def node_scores(pod: PodFacts, configuration: Configuration, fitting: Sequence[NodeState], nodes: Nodes) -> list[int]:
    """Return the score of each feasible node."""
    found = scores(pod, configuration.profile, fitting, nodes)
    return [score + _own_scores(pod, configuration, node) for score, node in zip(found, fitting, strict=True)]


@dataclass(frozen=True, slots=True)
class KoordinatorCriteria:
    """The room and the score of a node if neither depends on other nodes."""

    configuration: Configuration

    def lacking(self, pod: PodFacts, node: NodeState) -> FilterStatus | None:
        """Return why a node has no room for a pod; None if it has."""
        profile = self.configuration.profile
        return resources_lacking(pod, node, profile) if "NodeResourcesFit" in profile.filters else None

    def score(self, pod: PodFacts, node: NodeState) -> float:
        """Return the score of a node, which depends only on its resources."""
        configuration = self.configuration
        return float(resource_score(pod, node, configuration.profile) + _own_scores(pod, configuration, node))


def _own_scores(pod: PodFacts, configuration: Configuration, node: NodeState) -> int:
    """Return the scores of the plugins that kube-scheduler's profile does not have."""
    found = configuration.fit_weight * _fit_plus(pod, node, configuration)
    found += configuration.numa_weight * _least_allocated(pod, node)
    if configuration.balance_weight and (pod.request.get(CPU) or pod.request.get(MEMORY)):
        found += configuration.balance_weight * _balance(pod, node)
    return found


def _balance(pod: PodFacts, node: NodeState) -> int:
    """Return the NodeResourcesBalancedAllocation score of kube-scheduler 1.35: how equal the used fractions are.

    The plugin scores no pod that requests neither of its resources (balanced_allocation.go, PreScore).
    """
    parts: list[float] = []
    for resource in (CPU, MEMORY):
        capacity = node.allocatable.get(resource, 0)
        if capacity:
            held = node.requested.get(resource, 0) + pod.request.get(resource, 0)
            parts.append(min(1.0, held / capacity))
    return evenness(parts)


def _fit_plus(pod: PodFacts, node: NodeState, configuration: Configuration) -> int:
    """Return the NodeResourcesFitPlus score: the weighted mean of the resources that the pod requests."""
    total = weights = 0
    for resource, asked in pod.request.items():
        settings = configuration.fit_resources.get(resource)
        if settings is None or asked <= 0:
            continue
        strategy, weight = settings
        capacity, held = node.allocatable.get(resource, 0), _held(pod, node, resource)
        if strategy == MOST:
            total += weight * (min(held, capacity) * _MOST // capacity if capacity else 0)
        elif strategy == LEAST:
            total += weight * ((capacity - held) * _MOST // capacity if capacity and held <= capacity else 0)
        weights += weight
    return total // weights if weights else _MOST


def _held(pod: PodFacts, node: NodeState, resource: str) -> int:
    if resource == CPU:
        return node.nonzero_cpu + pod.nonzero[0]
    if resource == MEMORY:
        return node.nonzero_memory + pod.nonzero[1]
    return node.requested.get(resource, 0) + pod.request[resource]


def _least_allocated(pod: PodFacts, node: NodeState) -> int:
    """Return the NodeNUMAResource score of a node without a NUMA policy: the free part of cpu and memory."""
    if not any(pod.request.values()):
        return 0
    parts: list[int] = []
    for resource in (CPU, MEMORY):
        capacity = node.allocatable.get(resource, 0)
        held = node.requested.get(resource, 0) + pod.request.get(resource, 0)
        if capacity:
            parts.append((capacity - held) * _MOST // capacity if held <= capacity else 0)
    return sum(parts) // len(parts) if parts else 0
