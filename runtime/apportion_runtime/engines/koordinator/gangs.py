"""The gangs of coscheduling, which annotations of pods define.

The pods of a gang are attempted one after another. If one of them fails, none of them is bound, in strict and in
non-strict mode alike: at the end of the attempt, the pods that wait for the others are rejected. A gang that was bound once
is complete for good, so its later pods are scheduled one by one.

Source: pkg/scheduler/plugins/coscheduling/core (gang.go, gang_cache.go, core.go) at a7a1b76b.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from apportion_api.koordinator.names import (
    GANG_GROUPS_ANNOTATION,
    GANG_MATCH_POLICY_ANNOTATION,
    GANG_MIN_ANNOTATION,
    GANG_MODE_ANNOTATION,
    GANG_NAME_ANNOTATION,
    GANG_TOPOLOGY_ANNOTATION,
    POD_GROUP_LABEL,
)
from apportion_runtime.admission.objects import annotations_of, labels_of, namespace_of
from apportion_runtime.sim.scenario.format import Manifest

ONCE_SATISFIED = "once-satisfied"
"""The default match policy."""


class GangError(ValueError):
    """A pod has an invalid gang, or a gang with features that are not simulated."""


@dataclass(slots=True)
class Gang:
    """A gang.

    Attributes:
        key: `namespace/name`.
        minimum: The number of pods that start together; None if the pods do not declare it, so that they never start.
        pods: The uids of its pods.
        is_satisfied: Whether any of its pods has been bound.
        is_lenient: Whether its mode is `NonStrict`.
    """

    key: str
    minimum: int | None
    is_lenient: bool = False
    pods: dict[str, None] = field(default_factory=dict[str, None])
    is_satisfied: bool = False


class Gangs:
    """The gangs of a cluster, and the gang of each pod."""

    def __init__(self) -> None:
        self._gangs: dict[str, Gang] = {}
        self._key_of: dict[str, str] = {}

    def add(self, uid: str, made: Manifest, *, is_bound: bool) -> None:
        """Add a new pod to its gang; the first pod of a gang defines it."""
        key = gang_key(made)
        if not key:
            return
        gang = self._gangs.get(key)
        if gang is None:
            is_lenient = annotations_of(made).get(GANG_MODE_ANNOTATION) == "NonStrict"
            gang = self._gangs[key] = Gang(key, _minimum(made), is_lenient)
        elif gang.minimum is None:
            gang.minimum = _minimum(made)
        self._key_of[uid] = key
        gang.pods[uid] = None
        if is_bound:
            self.bind(uid)

    def of(self, uid: str) -> Gang | None:
        """Return the gang of a pod; None if it has none."""
        key = self._key_of.get(uid)
        return None if key is None else self._gangs[key]

    def bind(self, uid: str) -> None:
        """Record that a pod was bound: its gang is complete for good."""
        gang = self.of(uid)
        if gang is not None:
            gang.is_satisfied = True

    def remove(self, uid: str) -> None:
        """Remove a deleted pod, and its gang if it was the last one."""
        gang = self.of(uid)
        if gang is None:
            return
        del gang.pods[uid], self._key_of[uid]
        if not gang.pods:
            del self._gangs[gang.key]


def shortage(gang: Gang, pod_name: str) -> str | None:
    """Return why a gang cannot be attempted, in Koordinator's words; None if it can."""
    if gang.minimum is None:
        return f"gang has not init, gangName: {gang.key}, podName: {pod_name}"
    if len(gang.pods) >= gang.minimum:
        return None
    return (
        f"gangGroup [{gang.key}] basic check: memberGangs [{gang.key}] child pod not collect enough, current gang: "
        f"{gang.key}, podName: {pod_name}"
    )


def gang_key(made: Manifest) -> str:
    """Return the `namespace/name` of a pod's gang; empty if it has none."""
    name = annotations_of(made).get(GANG_NAME_ANNOTATION)
    return f"{namespace_of(made)}/{name}" if name else ""


def check_gang(made: Manifest) -> None:
    """Raise `GangError` for a pod whose gang uses features that are not simulated."""
    annotations, labels = annotations_of(made), labels_of(made)
    named = next((key for key in labels if key.startswith(POD_GROUP_LABEL)), None)
    if named is not None:
        raise GangError(
            f"the label {named} is not simulated; define the gang with the annotation {GANG_NAME_ANNOTATION}"
        )
    if GANG_TOPOLOGY_ANNOTATION in annotations:
        raise GangError(f"the annotation {GANG_TOPOLOGY_ANNOTATION} is not simulated; remove it")
    if GANG_GROUPS_ANNOTATION in annotations:
        raise GangError(f"the annotation {GANG_GROUPS_ANNOTATION} is not simulated; remove it")
    policy = annotations.get(GANG_MATCH_POLICY_ANNOTATION) or ONCE_SATISFIED
    if policy != ONCE_SATISFIED:
        raise GangError(f"{GANG_MATCH_POLICY_ANNOTATION}: {policy} is not simulated; use {ONCE_SATISFIED}")


def _minimum(made: Manifest) -> int | None:
    written = annotations_of(made).get(GANG_MIN_ANNOTATION)
    try:
        return None if written is None else int(written)
    except ValueError:
        return None
