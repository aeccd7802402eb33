"""What every renderer shows: the findings with their edits, and what was looked at."""

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
"""Returns the text of a file that findings name; None where it may not be quoted."""


Phase = Literal["evaluation", "structure", "checks", "manifests"]
"""`manifests` is a report on raw manifests, which have no other phases."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A diagnostic, and its fix as an edit of the text where there is one."""

    diagnostic: Diagnostic
    edit: TextEdit | None = None

    @property
    def level(self) -> str:
        """`error`, `warning`, or `waived` where a waiver suppresses it."""
        return "waived" if self.diagnostic.suppression is not None else self.diagnostic.effective_severity.value

    @property
    def is_required_error(self) -> bool:
        """Whether no switch turns it off."""
        return self.diagnostic.rule.required and self.level == "error"

    @property
    def is_unsafe(self) -> bool:
        """Whether its fix is applied only where somebody asks for it."""
        fix = self.diagnostic.fix
        return fix is not None and fix.applicability is Applicability.UNSAFE


@dataclass(frozen=True, slots=True)
class Report:
    """The findings about a policy, or about raw manifests.

    Attributes:
        findings: In the order in which they are shown.
        entry: The policy's file, named as findings name it.
        as_of: The day that decided which overrides and waivers hold.
        tool_version: Of the program that made the report.
        reached: The last phase that ran; errors of one phase stop the next.
        n_queues: Queues of the policy; None where it could not be evaluated.
        n_environments: Its environments, likewise.
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
        """Return how many findings have a level."""
        return sum(finding.level == level for finding in self.findings)

    def fails(self, fail_on: str) -> bool:
        """Tell whether a finding is at or above `error` or `warning`; for `never`, an error of a required rule."""
        levels = {"error": ("error",), "warning": ("error", "warning")}.get(fail_on, ())
        return any(finding.level in levels or finding.is_required_error for finding in self.findings)


def with_edits(
    diagnostics: Iterable[Diagnostic], read: Read, shared: AbstractSet[Place] = frozenset()
) -> tuple[Finding, ...]:
    """Return diagnostics as findings; `shared` are the places that no edit may change."""
    # Reading text for edits takes longer to load than a sound policy takes to check.
    from apportion_compiler.fixes import text_edit

    return tuple(
        Finding(diagnostic, text_edit(diagnostic.fix, read, shared=shared) if diagnostic.fix is not None else None)
        for diagnostic in diagnostics
    )


def ordinals(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return a fingerprint for each finding that no other has: the diagnostic's own and a running number."""
    seen: dict[str, int] = {}
    unique: list[str] = []
    for finding in findings:
        fingerprint = finding.diagnostic.fingerprint
        seen[fingerprint] = seen.get(fingerprint, 0) + 1
        unique.append(f"{fingerprint}:{seen[fingerprint]}")
    return tuple(unique)
