"""Rules and findings. A finding is data; the renderers in this package convert it to text, JSON, SARIF and others."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from apportion_policy.source import NOWHERE, SourceLocation


class Severity(str, Enum):
    """`ERROR` stops emission, `WARNING` does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Rule:
    """A permanent code, a kebab-case name that reads after "allow", the default severity and a one-line description.

    A `required` rule is an error regardless of the policy's settings, because later phases rely on it.
    """

    code: str
    name: str
    severity: Severity
    summary: str
    required: bool = False

    @property
    def docs_command(self) -> str:
        """The command that prints the rule's page, independent of the installation."""
        return f"apportion explain {self.code}"

    @property
    def docs(self) -> str:
        """The page that explains the rule, relative to the documentation's root."""
        return f"docs/diagnostics/{self.code}-{self.name}.md"


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that is involved in a finding."""

    at: SourceLocation
    message: str


class Applicability(str, Enum):
    """Whether a fix is applied by default.

    `SAFE` does not change quotas, weights, priorities, access rights, names or machines. `UNSAFE` may not be what the
    author intends, and is applied only on request.
    """

    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True)
class ValueEdit:
    """A fix that changes one value of a declaration: `fixes.py` finds its text span in the author's file.

    `path` is the path from the declaration at `at` to the value: field names and mapping keys, such as
    `("guaranteed", "gpu", "h100")`. `value` is the text to write, without quotes; `None` removes the field.
    """

    at: SourceLocation
    path: tuple[str, ...]
    value: str | int | bool | None
    applicability: Applicability = Applicability.UNSAFE


@dataclass(frozen=True, slots=True)
class Suppression:
    """The waiver that suppresses a finding."""

    reason: str
    owner: str
    expires: str
    at: SourceLocation


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A finding of a rule at the author's line.

    `message` is a self-contained lower-case clause with numbers and units; `address` names the object
    (`queue research`); `hint` is an imperative with concrete values; `fix` changes one value, if one suffices;
    `scope` names the environment and cluster (`prod/gpu-1`) when the fault exists only there, and `also` the other
    clusters of a fault that is reported once for several.
    """

    rule: Rule
    address: str
    message: str
    at: SourceLocation = NOWHERE
    related: tuple[Related, ...] = ()
    hint: str | None = None
    fix: ValueEdit | None = None
    scope: str | None = None
    severity: Severity | None = None
    suppression: Suppression | None = None
    also: tuple[str, ...] = ()

    @property
    def code(self) -> str:
        """The rule's permanent code."""
        return self.rule.code

    @property
    def effective_severity(self) -> Severity:
        """The severity set by the policy, else that of the finding, else the rule's default."""
        return self.severity or self.rule.severity

    @property
    def where(self) -> str:
        """The object, and the scope unless the object is the scope."""
        return (
            self.address
            if self.scope is None or self.address.endswith(f" {self.scope}")
            else f"{self.address} on {self.scope}"
        )

    @property
    def fingerprint(self) -> str:
        """A digest of the rule, the object and the scope, independent of line numbers and amounts."""
        return hashlib.sha256(
            "\x1f".join((self.code, self.address, self.scope or "")).encode(errors="surrogatepass")
        ).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class SeverityPolicy:
    """The policy's settings of rules: severities by code (`None` is off) and waivers by code and address."""

    severities: Mapping[str, Severity | None] = field(default_factory=dict)
    waivers: Mapping[tuple[str, str], Suppression] = field(default_factory=dict)


def apply_severities(diagnostics: Iterable[Diagnostic], policy: SeverityPolicy) -> tuple[Diagnostic, ...]:
    """Return the findings whose rules are not off, each with its severity and, if waived, its suppression.

    If a helper function created the declaration, the lines that call it are added to the related places.
    """
    evaluated: dict[Diagnostic, None] = {}
    for diagnostic in diagnostics:
        severity: Severity | None = diagnostic.effective_severity
        waiver: Suppression | None = None
        if not diagnostic.rule.required:
            severity = policy.severities.get(diagnostic.code, severity)
            waiver = policy.waivers.get((diagnostic.code, diagnostic.address))
        if severity is None:
            continue
        related = (*diagnostic.related, *_call_sites(diagnostic.at))
        evaluated[replace(diagnostic, severity=severity, suppression=waiver, related=related)] = None
    return tuple(evaluated)


def _call_sites(at: SourceLocation) -> tuple[Related, ...]:
    return tuple(Related(SourceLocation(call.file, call.line), "called here") for call in at.callers)


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Return whether any finding stops emission; suppressed findings do not."""
    return any(d.effective_severity is Severity.ERROR and d.suppression is None for d in diagnostics)


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return findings ordered by file, line, code and address, which is the order in every output."""
    return tuple(
        sorted(
            diagnostics, key=lambda d: (d.at.file, d.at.line, d.at.column, d.code, d.address, d.scope or "", d.message)
        )
    )
