"""The result of an evaluation: the policy as data, or the reasons why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from apportion_policy.evaluation.fault import Fault
from apportion_policy.evaluation.tree import PolicyTree


@dataclass(frozen=True, slots=True)
class EvaluatedPolicy:
    """A policy as data.

    Attributes:
        document: The input of `apportion_policy.wire.load`.
        files: Absolute paths of the policy's files that were read, the entry first.
        layers: Names of the layers that confined it; `layers.missing_layers` returns the missing ones.
        printed: The policy's printed output, sanitized and truncated to `PRINTS_KEPT_BYTES`.
        tree: The policy's files: lines are quoted only from these.
    """

    document: bytes
    files: tuple[str, ...]
    layers: tuple[str, ...]
    printed: str
    tree: PolicyTree


@dataclass(frozen=True, slots=True)
class Rejected:
    """Why there is no policy; other attributes are those of `EvaluatedPolicy`, as far as they are known."""

    faults: tuple[Fault, ...]
    layers: tuple[str, ...] = ()
    printed: str = ""
    tree: PolicyTree | None = None
