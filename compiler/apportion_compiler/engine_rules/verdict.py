"""The results of an engine's webhooks, validators and controllers for raw manifests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from apportion_api.fields import Fault

Manifest = Mapping[str, object]


class Effect(str, Enum):
    """The effect on the object."""

    REJECTED = "rejected"
    """The API server, a webhook or the engine's validator rejects it."""
    IGNORED = "ignored"
    """It is accepted, but the engine ignores part of it."""
    WARNED = "warned"
    """It is accepted although it violates the cluster's admission policies, which only warn or audit."""
    PENDING = "pending"
    """The workload is accepted but never starts."""
    DEPRECATED = "deprecated"
    """It takes effect, but uses a name that a later version removes."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A fault of a manifest on an engine.

    Attributes:
        effect: The effect on the object.
        index: Index of the manifest.
        field: Path of the field, such as `spec.resourceGroups[0].flavors[1].name`; empty for the whole object.
        kind: The engine's own error type, if any: `Required`, `Invalid`, `Duplicate`, …
        message: The reason as one clause, in the engine's words if it has a message.
        cure: The remedy, an imperative clause.
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
        "a number without quotes or a unit: cpu in millicores, memory in megabytes, gpu in devices",
    ),
    "a boolean": ("boolean", "true or false without quotes"),
    "a quantity": ("integer or string", "a quantity such as 4, 500m or 2Ti"),
    "a mapping": ("object", "a mapping"),
    "a list": ("array", "a list"),
}
"""By the expected type of a field: the schema's type, and the value to write."""


@dataclass(frozen=True, slots=True)
class ManifestVerdicts:
    """Verdicts on the fields of one manifest, identified by its index."""

    index: int
    faults: tuple[Fault, ...] = ()
    """Values of the wrong type."""

    def is_malformed(self, field: str) -> bool:
        """Return whether the value of a field has the wrong type."""
        return any(fault.path == field for fault in self.faults)

    def mistyped(self) -> Iterator[Verdict]:
        """Yield a verdict for each value that does not match the type in the schema."""
        for fault in self.faults:
            wanted, cure = _TYPES[fault.expected]
            yield self.rejected(
                fault.path, "Invalid", f"must be of type {wanted}, not {_shown(fault.found)}", f"use {cure}"
            )

    def rejected(self, field: str, kind: str, message: str, cure: str) -> Verdict:
        """Return a verdict that the API server or a webhook rejects it."""
        return Verdict(Effect.REJECTED, self.index, field, kind, message, cure)

    def ignored(self, field: str, kind: str, message: str, cure: str) -> Verdict:
        """Return a verdict that the engine accepts it but ignores the field."""
        return Verdict(Effect.IGNORED, self.index, field, kind, message, cure)

    def pending(self, field: str, kind: str, message: str, cure: str) -> Verdict:
        """Return a verdict that the workload never starts."""
        return Verdict(Effect.PENDING, self.index, field, kind, message, cure)


@dataclass(frozen=True, slots=True)
class EngineRules:
    """The rules of one engine for all objects that are applied together.

    `check` yields verdicts on supported kinds and ignores others. `existing` are the cluster's objects; a manifest with
    the identity of one of them is an update.
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
