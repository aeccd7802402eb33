"""Pods of a recorded watch that run on their node without a queue, whose requests reduce what the node has for others.

These are the pods of DaemonSets, and static pods, which the kubelet owns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_runtime.sim.traces.records import TraceNode
from apportion_runtime.sim.traces.rows import BadRow
from apportion_runtime.sim.traces.watch_events import WatchedObject, mapping, mappings
from apportion_runtime.sim.traces.watched_nodes import DISK, MIB, extended_of
from apportion_runtime.snapshots.pod_requests import pod_requests, total

_OWNERS = ("DaemonSet", "Node")
_ENDED = ("Succeeded", "Failed")


def is_daemon_pod(watched: WatchedObject) -> bool:
    """Return whether a pod runs on its node without a queue."""
    owners = mappings(watched.metadata, "ownerReferences")
    return any(owner.get("controller") and owner.get("kind") in _OWNERS for owner in owners)


def daemon_requests(watched: WatchedObject) -> tuple[str, Mapping[str, int]]:
    """Return the node of a pod, and its requests with the pod itself. Raises `BadRow` if it is not on a node at the end."""
    spec = mapping(watched.state, "spec")
    node = str(spec.get("nodeName") or "")
    if not node or watched.is_deleted or mapping(watched.state, "status").get("phase") in _ENDED:
        raise BadRow("a DaemonSet pod or static pod is not on a node at the end of the recording")
    try:
        return node, {**pod_requests(spec), "pods": 1}
    except (ValueError, AttributeError, TypeError) as wrong:
        raise BadRow(f"the pod's resources are invalid ({wrong})", "correct them") from None


def without_daemons(node: TraceNode, requests: Iterable[Mapping[str, int]]) -> TraceNode:
    """Return a node with what its DaemonSets and static pods leave."""
    used = total(requests)
    of_extended = dict(extended_of(used))
    return replace(
        node,
        cpu_milli=max(0, node.cpu_milli - used.get("cpu", 0)),
        memory_mib=max(0, node.memory_mib - math.ceil(used.get("memory", 0) / MIB)),
        gpus=max(0, node.gpus - used.get(GPU_RESOURCE, 0)),
        disk_mib=max(0, node.disk_mib - math.ceil(used.get(DISK, 0) / MIB)),
        extended=tuple((name, max(0, amount - of_extended.get(name, 0))) for name, amount in node.extended),
        n_pods=max(0, node.n_pods - used.get("pods", 0)),
    )
