"""Taints that nodes have because of their state, which their objects need not list.

Source: pkg/controller/nodelifecycle/node_lifecycle_controller.go (doNoScheduleTaintingPass) at v1.36.3.
"""

from __future__ import annotations

from apportion_runtime.core.plugins.predicates import tolerated
from apportion_runtime.core.pod_constraints import Taint
from apportion_runtime.core.snapshot import Node, Pod

_UNSCHEDULABLE = Node("", {}, taints=(Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"),))
_NOT_READY = Node("", {}, taints=(Taint("node.kubernetes.io/not-ready", "", "NoSchedule"),))


def tolerates(pod: Pod, node: Node) -> bool:
    """Return whether a pod tolerates the taints of a node, and that it is not ready if so."""
    return tolerated(pod, node) and (node.ready or tolerated(pod, _NOT_READY))


def tolerates_unschedulable(pod: Pod) -> bool:
    """Return whether a pod tolerates the taint of cordoned nodes."""
    return tolerated(pod, _UNSCHEDULABLE)
