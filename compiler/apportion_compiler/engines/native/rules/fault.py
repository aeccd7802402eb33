"""A fault of an object, without its index among several objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from apportion_compiler.engine_rules.verdict import Effect
from apportion_compiler.plain_objects import Manifest


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a field; the attributes are those of `Verdict`."""

    effect: Effect
    field: str
    kind: str
    message: str
    cure: str


Rule = Callable[[Manifest, Manifest | None], Iterator[Fault]]
"""Returns the faults of an object, given the object that it updates, if any."""


def rejected(field: str, kind: str, message: str, cure: str) -> Fault:
    """Return a fault for which the object is rejected; `kind` is Kubernetes' error type, such as `Invalid`."""
    return Fault(Effect.REJECTED, field, kind, message, cure)


def ignored(field: str, kind: str, message: str, cure: str) -> Fault:
    """Return a fault of a field that is accepted but has no effect."""
    return Fault(Effect.IGNORED, field, kind, message, cure)


def pending(field: str, kind: str, message: str, cure: str) -> Fault:
    """Return a fault that prevents workloads from running."""
    return Fault(Effect.PENDING, field, kind, message, cure)
