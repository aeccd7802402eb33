"""The decision of the engine's pod grouper about a pod: its pod group and sub-group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from apportion_runtime.admission.objects import Manifest


@dataclass(frozen=True, slots=True)
class Constraint:
    """A topology constraint: the levels at which pods are placed together."""

    topology: str
    required: str = ""
    preferred: str = ""

    def manifest(self) -> dict[str, str]:
        """Return the constraint as in the API."""
        made = {
            "topology": self.topology,
            "requiredTopologyLevel": self.required,
            "preferredTopologyLevel": self.preferred,
        }
        return {key: value for key, value in made.items() if value}


@dataclass(frozen=True, slots=True)
class Part:
    """A sub-group: `min_parts` if it has sub-groups, otherwise `min_members` pods."""

    name: str
    min_members: int = 0
    min_parts: int | None = None
    parent: str = ""
    constraint: Constraint | None = None

    def manifest(self) -> dict[str, Any]:
        """Return the sub-group as in the API."""
        made: dict[str, Any] = {"name": self.name}
        if self.parent:
            made["parent"] = self.parent
        if self.constraint is not None:
            made["topologyConstraint"] = self.constraint.manifest()
        if self.min_parts is not None:
            made["minSubGroup"] = self.min_parts
        else:
            made["minMember"] = self.min_members
        return made


@dataclass(frozen=True, slots=True)
class Grouping:
    """A pod group, and the part of it (`sub_group`, empty for none) to which the grouped pod belongs."""

    owner: Manifest
    namespace: str
    name: str
    queue: str
    priority_class: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    preemptibility: str = ""
    preemption_delay: str = ""
    staleness_grace: str = ""
    min_members: int = 1
    min_parts: int | None = None
    parts: tuple[Part, ...] = ()
    constraint: Constraint | None = None
    sub_group: str = ""
    has_queue: bool = True
    """Whether the queue was specified, and is not the default."""

    def with_parts(self, parts: Sequence[Part], sub_group: str) -> Grouping:
        """Return the pod group with sub-groups; a pod with any other sub-group gets none."""
        known = any(part.name == sub_group for part in parts)
        return replace(self, parts=tuple(parts), sub_group=sub_group if known else "")
