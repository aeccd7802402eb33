"""Bind requests: allocations of earlier cycles that the binder has not completed yet.

Source: pkg/scheduler/api/bindrequest_info/binrequest_info.go, cache/cluster_info/cluster_info.go.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from apportion_runtime.snapshots.kubernetes.objects import Object

_FAILED = "Failed"


def pending_bindings(requests: Sequence[Object], nodes: Collection[str]) -> dict[tuple[str, str], Object]:
    """Return the pending bind requests, by namespace and name of the pod."""
    return {
        (request.namespace, request.spec.get("podName") or ""): request
        for request in requests
        if request.spec.get("selectedNode") in nodes and not _has_failed(request)
    }


def _has_failed(request: Object) -> bool:
    if request.status.get("phase") != _FAILED:
        return False
    limit = request.spec.get("backoffLimit")
    return limit is None or (request.status.get("failedAttempts") or 0) >= limit
