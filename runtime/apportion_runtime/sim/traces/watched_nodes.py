"""Nodes of a recorded watch: labels, taints and allocatable resources of their last state."""

from __future__ import annotations

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_runtime.sim.traces.records import TraceNode
from apportion_runtime.sim.traces.rows import BadRow
from apportion_runtime.sim.traces.timestamps import timestamp_of
from apportion_runtime.sim.traces.watch_events import WatchedObject, mapping, mappings
from apportion_runtime.snapshots.pod_requests import amounts

DISK = "ephemeral-storage"
MIB = 1024**2


def node_of(watched: WatchedObject, name: str) -> TraceNode:
    """Return a node whose times are seconds since 1970. Raises `BadRow`."""
    try:
        held = amounts(mapping(watched.state, "status", "allocatable"))
    except ValueError as wrong:
        raise BadRow(f"the node's status.allocatable is invalid ({wrong})", "correct it") from None
    joins_s = timestamp_of("metadata.creationTimestamp", str(watched.metadata.get("creationTimestamp") or ""))
    if joins_s is None:
        raise BadRow("the node has no metadata.creationTimestamp", "set it")
    return TraceNode(
        name=name,
        cpu_milli=held.get("cpu", 0),
        memory_mib=held.get("memory", 0) // MIB,
        gpus=held.get(GPU_RESOURCE, 0),
        disk_mib=held.get(DISK, 0) // MIB,
        extended=extended_of(held),
        n_pods=held.get("pods", 0),
        labels=tuple(sorted((str(key), str(value)) for key, value in mapping(watched.metadata, "labels").items())),
        taints=tuple(
            (str(taint.get("key", "")), str(taint.get("value", "")), str(taint.get("effect", "")))
            for taint in mappings(watched.state, "spec", "taints")
        ),
        joins_s=joins_s,
        leaves_s=_last_seen_s(watched) if watched.is_deleted else None,
    )


def extended_of(amounts: dict[str, int]) -> tuple[tuple[str, int], ...]:
    """Return the extended resources and huge pages of amounts, without those of amount 0."""
    known = ("cpu", "memory", "pods", GPU_RESOURCE, DISK)
    return tuple(sorted((name, amount) for name, amount in amounts.items() if amount and name not in known))


def _last_seen_s(watched: WatchedObject) -> float | None:
    """Return the last heartbeat of a node, or the last change of a condition; a deleted node has no other time."""
    texts = [
        str(condition.get(name) or "")
        for condition in mappings(watched.state, "status", "conditions")
        for name in ("lastHeartbeatTime", "lastTransitionTime")
    ]
    return max((at for text in texts if (at := timestamp_of("a condition's time", text)) is not None), default=None)
