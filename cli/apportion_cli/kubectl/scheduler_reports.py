"""What the scheduler of a cluster has written about its pending pods: their conditions `PodScheduled`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apportion_api.kai.names import POD_GROUP_ANNOTATION

Object = dict[str, Any]


def pod_scheduled_messages(objects: Sequence[Object], namespace: str, group: str) -> dict[str, list[str]]:
    """Return the different messages about the pending pods of a pod group, each with the names of its pods, sorted."""
    pods = (
        one
        for one in objects
        if one["kind"] == "Pod"
        and (one["metadata"].get("namespace") or "") == namespace
        and (one["metadata"].get("annotations") or {}).get(POD_GROUP_ANNOTATION) == group
    )
    found: dict[str, list[str]] = {}
    for pod in sorted(pods, key=lambda pod: str(pod["metadata"]["name"])):
        if message := _message(pod):
            found.setdefault(message, []).append(pod["metadata"]["name"])
    return found


def _message(pod: Object) -> str | None:
    """Return why a pod is pending, or None if it is not, or if nothing was written."""
    status = pod.get("status") or {}
    if pod["spec"].get("nodeName") or status.get("phase") not in (None, "", "Pending"):
        return None
    conditions = (c for c in status.get("conditions") or () if c["type"] == "PodScheduled" and c["status"] == "False")
    return next((c["message"] for c in conditions if c.get("message")), None)
