"""AP0xx: faults of an evaluation that returned no policy, as findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity
from apportion_policy.evaluation.fault import Fault, FaultKind
from apportion_policy.source import NOWHERE, SourceLocation

_SUMMARIES: tuple[tuple[FaultKind, str], ...] = (
    ("syntax-error", "the policy is not valid Python"),
    ("policy-exception", "the policy raised an exception"),
    ("time-limit", "the policy exceeded its time limit"),
    ("memory-limit", "the policy exceeded its memory limit"),
    ("missing-import", "the policy imports a missing module"),
    ("invalid-value", "a value is invalid for its field"),
    ("unreadable-input", "the policy or an included file cannot be read"),
    ("document-too-large", "a policy file exceeds the size limit"),
    ("malformed-document", "a YAML or JSON document is not a policy"),
    ("invalid-encoding", "a policy file is not UTF-8 text"),
    ("no-policy", "the file declares no policy"),
    ("multiple-policies", "more than one policy is declared"),
    ("sandbox-violation", "the policy attempted a forbidden operation"),
    ("output-too-large", "the policy or its output exceeds the size limit"),
    ("evaluation-crashed", "the process that evaluates the policy exited without a result"),
)

AUTHORING: Mapping[FaultKind, Rule] = {
    kind: Rule(f"AP{number:03d}", kind, Severity.ERROR, summary, required=True)
    for number, (kind, summary) in enumerate(_SUMMARIES, start=1)
}
"""The rule of each kind of fault; codes are permanent, so append new kinds at the end."""


def authoring_findings(faults: Iterable[Fault]) -> tuple[Diagnostic, ...]:
    """Return the findings for an evaluation or document without a policy, in the order of the faults."""
    return tuple(
        Diagnostic(
            AUTHORING[fault.kind],
            f"file {PurePath(fault.file).name}" if fault.file is not None else "policy",
            fault.message,
            _place(fault),
            tuple(Related(SourceLocation(file, line), message) for file, line, message in fault.related),
            fault.hint,
        )
        for fault in faults
    )


def _place(fault: Fault) -> SourceLocation:
    if fault.file is None:
        return NOWHERE
    # A finding about a whole file points to its first line, because every output format requires a line.
    return SourceLocation(fault.file, fault.line or 1, fault.column or 0)
