"""What an evaluation returns: the policy as data, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from apportion_policy.evaluation.fault import Fault
from apportion_policy.evaluation.tree import PolicyTree


@dataclass(frozen=True, slots=True)
class EvaluatedPolicy:
    """A policy as data.

    Attributes:
        document: What `apportion_policy.wire.load` reads.
        files: The policy's own files that were read, the entry first, absolute.
        layers: Names of the layers that confined it; `layers.missing_layers` says which are lacking.
        printed: What the policy printed, made plain, cut to `PRINTS_KEPT_BYTES`.
        tree: Bounds what may be shown of it: a line is quoted only from a file that `tree.contains`.
    """

    document: bytes
    files: tuple[str, ...]
    layers: tuple[str, ...]
    printed: str
    tree: PolicyTree


@dataclass(frozen=True, slots=True)
class Rejected:
    """Why there is no policy; the other attributes are those of `EvaluatedPolicy`, as far as it came."""

    faults: tuple[Fault, ...]
    layers: tuple[str, ...] = ()
    printed: str = ""
    tree: PolicyTree | None = None
