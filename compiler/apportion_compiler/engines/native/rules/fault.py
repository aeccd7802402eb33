"""One fault of one object, before it is known which of several objects it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from apportion_compiler.engine_rules.verdict import Effect
from apportion_compiler.plain_objects import Manifest


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a field; the fields are those of `Verdict`."""

    effect: Effect
    field: str
    kind: str
    message: str
    cure: str


Rule = Callable[[Manifest, Manifest | None], Iterator[Fault]]
"""From an object, and the one that it updates, to its faults."""


def rejected(field: str, kind: str, message: str, cure: str) -> Fault:
    """Return a fault for which the object is refused; `kind` is Kubernetes' word, such as `Invalid`."""
    return Fault(Effect.REJECTED, field, kind, message, cure)


def ignored(field: str, kind: str, message: str, cure: str) -> Fault:
    """Return a fault of something that is accepted, and does not do what it says."""
    return Fault(Effect.IGNORED, field, kind, message, cure)


def pending(field: str, kind: str, message: str, cure: str) -> Fault:
    """Return a fault that keeps workloads from running."""
    return Fault(Effect.PENDING, field, kind, message, cure)
