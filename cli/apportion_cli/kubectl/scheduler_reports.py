"""What the scheduler of a cluster has written about its pending pods: their conditions `PodScheduled`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apportion_api.kai.names import POD_GROUP_ANNOTATION

Object = Mapping[str, Any]


def pod_scheduled_messages(objects: Sequence[Object], namespace: str, group: str) -> dict[str, list[str]]:
    """Return the different messages about the pending pods of a pod group, each with the names of its pods, sorted."""
    pods = (
        one
        for one in objects
        if one["kind"] == "Pod"
        and _is_pending(one)
        and (one["metadata"].get("namespace") or "") == namespace
        and (one["metadata"].get("annotations") or {}).get(POD_GROUP_ANNOTATION) == group
    )
    found: dict[str, list[str]] = {}
    for pod in sorted(pods, key=lambda pod: str(pod["metadata"]["name"])):
        if message := pod_scheduled_message(pod):
            found.setdefault(message, []).append(pod["metadata"]["name"])
    return found


def pod_scheduled_message(pod: Object) -> str | None:
    """Return why a pod is pending; None if nothing was written."""
    conditions = (pod.get("status") or {}).get("conditions")
    # In a file, conditions may have any shape: a cycle does not read them.
    for one in conditions if isinstance(conditions, list) else ():
        if isinstance(one, dict) and (one.get("type"), one.get("status")) == ("PodScheduled", "False"):
            message = one.get("message")
            if message and isinstance(message, str):
                return message
    return None


def _is_pending(pod: Object) -> bool:
    phase = (pod.get("status") or {}).get("phase")
    return not pod["spec"].get("nodeName") and phase in (None, "", "Pending")
