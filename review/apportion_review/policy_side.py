"""One side of a comparison: a policy checked on a date."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from apportion_compiler.compile import CheckResult, Compilation
from apportion_policy.policy import Policy
from apportion_review.diff_report import DiffReport, Side
from apportion_review.differences import differences
from apportion_review.facts import Facts
from apportion_review.object_changes import object_changes


@dataclass(frozen=True, slots=True)
class PolicySide:
    """A policy's facts, and its compilation.

    Attributes:
        name: Its name on the command line.
        as_of: Date on which overrides and waivers are evaluated.
        policy: The policy.
        facts: Its facts.
        checked: Its check result.
        compilation: Its compilation; None if it cannot be compiled.
        why_not_compiled: Why not, as a clause; empty otherwise.
        digest: Digest of the policy's files, `sha256:…`; empty if it was not read from files.
    """

    name: str
    as_of: date
    policy: Policy
    facts: Facts
    checked: CheckResult
    compilation: Compilation | None
    why_not_compiled: str = ""
    digest: str = ""


def diff_report(base: PolicySide, head: PolicySide) -> DiffReport:
    """Compare two policies; compiled objects are compared only if both sides compile."""
    objects = None
    if base.compilation is not None and head.compilation is not None:
        objects = object_changes(base.compilation, head.compilation)
    return DiffReport(
        Side(base.name, base.as_of),
        Side(head.name, head.as_of),
        differences(base.facts, head.facts),
        objects,
        " and ".join(f"{side.name} {side.why_not_compiled}" for side in (base, head) if side.why_not_compiled),
    )
