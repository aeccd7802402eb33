"""The report that every renderer shows: the findings with their edits, and the scope of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Literal

from apportion_compiler.diagnostics.diagnostic import Applicability, Diagnostic
from apportion_compiler.spans import Place

if TYPE_CHECKING:
    from apportion_compiler.fixes import TextEdit

Read = Callable[[str], str | None]
"""Returns the text of a file in findings; None if it must not be quoted."""


Phase = Literal["evaluation", "structure", "checks", "manifests"]
"""`manifests` is a report on raw manifests, which have no other phases."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A diagnostic, with its fix as a text edit if it has one."""

    diagnostic: Diagnostic
    edit: TextEdit | None = None

    @property
    def level(self) -> str:
        """`error`, `warning`, or `waived` if a waiver suppresses it."""
        return "waived" if self.diagnostic.suppression is not None else self.diagnostic.effective_severity.value

    @property
    def is_required_error(self) -> bool:
        """Whether it is an error that cannot be disabled."""
        return self.diagnostic.rule.required and self.level == "error"

    @property
    def is_unsafe(self) -> bool:
        """Whether its fix is applied only on request."""
        fix = self.diagnostic.fix
        return fix is not None and fix.applicability is Applicability.UNSAFE


@dataclass(frozen=True, slots=True)
class Report:
    """The findings about a policy, or about raw manifests.

    Attributes:
        findings: In display order.
        entry: The policy's file, as named in findings.
        as_of: The date that determines the active overrides and waivers.
        tool_version: Version of apportion.
        reached: The last phase that ran; errors of one phase stop the next.
        n_queues: Number of queues of the policy; None if it could not be evaluated.
        n_environments: Number of its environments, likewise.
        n_objects: Manifests that were evaluated; None in a report on a policy.
    """

    findings: tuple[Finding, ...]
    entry: str
    as_of: date
    tool_version: str
    reached: Phase = "checks"
    n_queues: int | None = None
    n_environments: int | None = None
    n_objects: int | None = None

    def count(self, level: str) -> int:
        """Return the number of findings of a level."""
        return sum(finding.level == level for finding in self.findings)

    def fails(self, fail_on: str) -> bool:
        """Return whether a finding has at least a severity; for `never`, whether it is an error of a required rule."""
        levels = {"error": ("error",), "warning": ("error", "warning")}.get(fail_on, ())
        return any(finding.level in levels or finding.is_required_error for finding in self.findings)


def with_edits(
    diagnostics: Iterable[Diagnostic], read: Read, shared: AbstractSet[Place] = frozenset()
) -> tuple[Finding, ...]:
    """Return diagnostics as findings; edits must not change the places in `shared`."""
    # Loading the edit code takes longer than checking a valid policy.
    from apportion_compiler.fixes import text_edit

    return tuple(
        Finding(diagnostic, text_edit(diagnostic.fix, read, shared=shared) if diagnostic.fix is not None else None)
        for diagnostic in diagnostics
    )


def ordinals(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return a unique fingerprint for each finding: the diagnostic's own and a sequence number."""
    seen: dict[str, int] = {}
    unique: list[str] = []
    for finding in findings:
        fingerprint = finding.diagnostic.fingerprint
        seen[fingerprint] = seen.get(fingerprint, 0) + 1
        unique.append(f"{fingerprint}:{seen[fingerprint]}")
    return tuple(unique)
