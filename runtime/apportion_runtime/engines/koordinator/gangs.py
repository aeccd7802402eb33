"""The gangs of coscheduling, which annotations of pods define.

The pods of a gang, or of several gangs in a gang group, are attempted one after another. If one of them fails, none of
them is bound, in strict and in non-strict mode alike: at the end of the attempt, the pods that wait for the others are
rejected. A gang that was bound once is complete for good, so its later pods are scheduled one by one.

Source: pkg/scheduler/plugins/coscheduling/core (gang.go, gang_cache.go, core.go) at a7a1b76b.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from apportion_api.embedded_json import json_value
from apportion_api.koordinator.names import (
    GANG_GROUPS_ANNOTATION,
    GANG_MATCH_POLICY_ANNOTATION,
    GANG_MIN_ANNOTATION,
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
        group: The keys of the gangs that start together, including its own.
        pods: Its pods by uid: whether a pod is bound.
        is_satisfied: Whether any of its pods has been bound.
    """

    key: str
    minimum: int | None
    group: tuple[str, ...]
    pods: dict[str, bool] = field(default_factory=dict[str, bool])
    is_satisfied: bool = False

    @property
    def is_gathered(self) -> bool:
        """Whether it has as many pods as must start together."""
        return self.minimum is not None and len(self.pods) >= self.minimum


class Gangs:
    """The gangs of a cluster, and the gang of each pod."""

    def __init__(self) -> None:
        self._gangs: dict[str, Gang] = {}
        self._key_of: dict[str, str] = {}

    def add(self, uid: str, made: Manifest, *, is_bound: bool) -> None:
        """A pod was created; the first pod of a gang defines it."""
        key = gang_key(made)
        if not key:
            return
        gang = self._gangs.get(key)
        if gang is None:
            gang = self._gangs[key] = Gang(key, _minimum(made), _group(made) or (key,))
        elif gang.minimum is None:
            gang.minimum, gang.group = _minimum(made), _group(made) or (key,)
        gang.is_satisfied = gang.is_satisfied or any(each.is_satisfied for each in self.group_of(gang))
        self._key_of[uid] = key
        gang.pods[uid] = False
        if is_bound:
            self.bind(uid)

    def of(self, uid: str) -> Gang | None:
        """Return the gang of a pod; None if it has none."""
        key = self._key_of.get(uid)
        return None if key is None else self._gangs[key]

    def bind(self, uid: str) -> None:
        """A pod was bound: the gangs that start with it are complete for good."""
        gang = self.of(uid)
        if gang is not None:
            gang.pods[uid] = True
            for each in self.group_of(gang):
                each.is_satisfied = True

    def remove(self, uid: str) -> None:
        """A pod is gone; a gang without pods is forgotten."""
        gang = self.of(uid)
        if gang is None:
            return
        del gang.pods[uid], self._key_of[uid]
        if not gang.pods:
            del self._gangs[gang.key]

    def group_of(self, gang: Gang) -> Iterator[Gang]:
        """Yield the existing gangs of a gang's group."""
        return (self._gangs[key] for key in gang.group if key in self._gangs)

    def shortage(self, gang: Gang, pod_name: str) -> str | None:
        """Return why a gang cannot be attempted, in Koordinator's words; None if it can."""
        if gang.minimum is None:
            return f"gang has not init, gangName: {gang.key}, podName: {pod_name}"
        missing = [key for key in gang.group if key not in self._gangs]
        unknown = [each.key for each in self.group_of(gang) if each.minimum is None]
        faults = [f"memberGangs [{' '.join(missing)}] doesn't exists"] if missing else []
        faults += [f"memberGangs [{' '.join(unknown)}] has not init"] if unknown else []
        if any(each.minimum is not None and not each.is_gathered for each in self.group_of(gang)):
            faults.append(f"memberGangs [{' '.join(gang.group)}] child pod not collect enough")
        if not faults:
            return None
        return (
            f"gangGroup [{' '.join(gang.group)}] basic check: {', '.join(faults)}, current gang: {gang.key}, "
            f"podName: {pod_name}"
        )

    def may_bind(self, gang: Gang, assumed: Sequence[str]) -> bool:
        """Return whether each gang of a group has enough assumed pods."""
        counts: dict[str, int] = {}
        for uid in assumed:
            key = self._key_of[uid]
            counts[key] = counts.get(key, 0) + 1
        return all(
            key in self._gangs
            and (self._gangs[key].is_satisfied or counts.get(key, 0) >= (self._gangs[key].minimum or 0))
            for key in gang.group
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
    policy = annotations.get(GANG_MATCH_POLICY_ANNOTATION) or ONCE_SATISFIED
    if policy != ONCE_SATISFIED:
        raise GangError(f"{GANG_MATCH_POLICY_ANNOTATION}: {policy} is not simulated; only {ONCE_SATISFIED} is")


def _minimum(made: Manifest) -> int | None:
    written = annotations_of(made).get(GANG_MIN_ANNOTATION)
    try:
        return None if written is None else int(written)
    except ValueError:
        return None


def _group(made: Manifest) -> tuple[str, ...]:
    """Return the gangs that start together; Koordinator ignores an invalid list."""
    try:
        found = json_value(annotations_of(made).get(GANG_GROUPS_ANNOTATION) or "[]")
    except ValueError:
        return ()
    return tuple(sorted(map(str, found))) if isinstance(found, list) else ()
