"""What an engine's own webhooks, validators and controllers say of raw manifests, whoever wrote them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from apportion_api.fields import Fault

Manifest = Mapping[str, object]


class Effect(str, Enum):
    """What becomes of the object."""

    REJECTED = "rejected"
    """The API server, a webhook or the engine's validator refuses it."""
    IGNORED = "ignored"
    """It is accepted, and the engine then does not do what it says."""
    WARNED = "warned"
    """It is accepted although the cluster's admission policies object: they only warn, or record it."""
    PENDING = "pending"
    """A workload that is accepted and never starts."""
    DEPRECATED = "deprecated"
    """It does what it says, under a name that a later version will not know."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One thing that an engine does not take.

    Attributes:
        effect: What becomes of the object.
        index: Which of the manifests given it is about.
        field: Where in it: `spec.resourceGroups[0].flavors[1].name`; empty for the object as a whole.
        kind: The engine's own word for the fault where it has one: `Required`, `Invalid`, `Duplicate`, …
        message: The reason as one clause, in the engine's words where it has any.
        cure: What to write instead, an imperative clause.
    """

    effect: Effect
    index: int
    field: str
    kind: str
    message: str
    cure: str


_TYPES: Mapping[str, tuple[str, str]] = {
    "a string": ("string", "text"),
    "an integer": ("integer", "an integer without quotes"),
    "a finite number": (
        "number",
        "a number without quotes or unit: cpu in millicores, memory in megabytes, gpu in devices",
    ),
    "a boolean": ("boolean", "true or false without quotes"),
    "a quantity": ("integer or string", "a quantity such as 4, 500m or 2Ti"),
    "a mapping": ("object", "a mapping"),
    "a list": ("array", "a list"),
}
"""By what a typed field expects: the schema's type, and what to write."""


@dataclass(frozen=True, slots=True)
class ManifestVerdicts:
    """Verdicts on the fields of one manifest, by its index among those given."""

    index: int
    faults: tuple[Fault, ...] = ()
    """The values of the wrong type."""

    def is_malformed(self, field: str) -> bool:
        """Tell whether the value of a field is of the wrong type."""
        return any(fault.path == field for fault in self.faults)

    def mistyped(self) -> Iterator[Verdict]:
        """Yield a verdict for each value that has not the type of the schema."""
        for fault in self.faults:
            wanted, cure = _TYPES[fault.expected]
            yield self.rejected(
                fault.path, "Invalid", f"must be of type {wanted}, not {_shown(fault.found)}", f"use {cure}"
            )

    def rejected(self, field: str, kind: str, message: str, cure: str) -> Verdict:
        """Return that the API server or a webhook refuses it."""
        return Verdict(Effect.REJECTED, self.index, field, kind, message, cure)

    def ignored(self, field: str, kind: str, message: str, cure: str) -> Verdict:
        """Return that the engine takes it and does something else."""
        return Verdict(Effect.IGNORED, self.index, field, kind, message, cure)

    def pending(self, field: str, kind: str, message: str, cure: str) -> Verdict:
        """Return that work never starts."""
        return Verdict(Effect.PENDING, self.index, field, kind, message, cure)


@dataclass(frozen=True, slots=True)
class EngineRules:
    """The rules of one engine over everything that shall be applied together.

    `check` yields verdicts on objects of kinds it knows and passes over others. `existing` are objects that the cluster
    already has; where one has the identity of a manifest, the manifest is an update of it.
    """

    name: str
    check: Callable[[Sequence[Manifest], Sequence[Manifest]], Iterator[Verdict]]


def _shown(value: object) -> str:
    if isinstance(value, str):
        return f'the text "{value[:40]}"'
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return "a Boolean" if isinstance(value, bool) else str(value)
