"""Assumed changes of pods: writes that the API server accepted, and the watch has not delivered yet.

An event of an earlier change must not undo them, or the next cycle would allocate the same device again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from apportion_runtime.kube.cluster import Key, Manifest

_SCHEDULED = {"type": "PodScheduled", "status": "True"}


@dataclass(frozen=True, slots=True)
class Assumption:
    """A change of one pod.

    Attributes:
        uid: The pod; another pod of the name is not changed.
        change: Returns the pod with the change.
        is_confirmed: Whether a pod from the API server has the change.
        until_s: When it must be verified, on a monotonic clock.
    """

    uid: str
    change: Callable[[Manifest], Manifest]
    is_confirmed: Callable[[Manifest], bool]
    until_s: float


class Assumptions:
    """The assumptions of a cluster's pods, by namespace and name."""

    def __init__(self) -> None:
        self._made: dict[Key, Assumption] = {}

    def __len__(self) -> int:
        return len(self._made)

    def add(self, key: Key, assumption: Assumption) -> None:
        """Assume a change, in addition to an earlier one of the same pod."""
        before = self._made.get(key)
        if before is not None and before.uid == assumption.uid:
            earlier, later = before.change, assumption.change
            assumption = replace(assumption, change=lambda pod: later(earlier(pod)))
        self._made[key] = assumption

    def applied(self, key: Key, pod: Manifest) -> Manifest:
        """Return a pod that the API server delivered, with its assumed change; a confirmed assumption ends."""
        assumption = self._made.get(key)
        if assumption is None:
            return pod
        if assumption.uid != pod["metadata"].get("uid") or assumption.is_confirmed(pod):
            del self._made[key]
            return pod
        return assumption.change(pod)

    def end(self, key: Key) -> None:
        """End the assumption of a pod, if there is one."""
        self._made.pop(key, None)

    def overdue(self, now_s: float) -> Mapping[Key, Assumption]:
        """Return the assumptions that must be verified."""
        return {key: one for key, one in self._made.items() if one.until_s <= now_s}


def bound_pod(pod: Manifest, node: str) -> Manifest:
    """Return a pod as the API server stores it when it is bound: with the node, and the condition that it is scheduled."""
    status = pod.get("status") or {}
    others = [one for one in status.get("conditions") or () if one.get("type") != _SCHEDULED["type"]]
    spec = {**pod["spec"], "nodeName": node}
    return {**pod, "spec": spec, "status": {**status, "conditions": [*others, _SCHEDULED]}}
