"""Findings and fidelity that a change adds or resolves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from apportion_compiler.backends import BACKENDS
from apportion_compiler.compile import CheckResult
from apportion_compiler.diagnostics.diagnostic import Diagnostic
from apportion_compiler.fidelity import fidelity
from apportion_review.review import FidelityChange, FindingChanges


def finding_changes(base: CheckResult, head: CheckResult) -> FindingChanges:
    """Compare the findings on two policies. A finding that moves to another line is unchanged."""
    before, after = (Counter(map(_key, side.diagnostics)) for side in (base, head))
    appeared = tuple(_beyond(head, before))
    return FindingChanges(appeared, tuple(_beyond(base, after)), len(head.diagnostics) - len(appeared))


def _key(finding: Diagnostic) -> tuple[object, ...]:
    return (
        finding.code,
        finding.address,
        finding.scope,
        finding.message,
        finding.effective_severity,
        finding.suppression is not None,
    )


def _beyond(side: CheckResult, other: Counter[tuple[object, ...]]) -> Iterator[Diagnostic]:
    """Yield the findings of a side that occur less often on the other one."""
    left = Counter(other)
    for finding in side.diagnostics:
        key = _key(finding)
        if left[key]:
            left[key] -= 1
        else:
            yield finding


def fidelity_changes(base: CheckResult, head: CheckResult) -> tuple[FidelityChange, ...]:
    """Compare the fidelity of the used features on the engine of each cluster."""
    before, after = _fidelity(base), _fidelity(head)
    return tuple(
        FidelityChange(*key, before.get(key, ""), after.get(key, ""))
        for key in dict.fromkeys((*after, *before))
        if before.get(key) != after.get(key)
    )


def _fidelity(side: CheckResult) -> dict[tuple[str, str, str], str]:
    return {
        (cluster, program.engine, line.feature.value): f"{line.verdict}: {line.text}" if line.text else line.verdict
        for cluster, program in side.programs.items()
        for line in fidelity(program, BACKENDS[program.engine])
    }
