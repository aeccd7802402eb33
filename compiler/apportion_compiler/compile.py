"""The whole pipeline as one readable function. Read this first.

Errors of one phase stop the next, never the rest of their own: an author sees every fault of a phase at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from apportion_compiler.checks import CHECKS, JUDGED_CHECKS, STRUCTURE_CHECKS
from apportion_compiler.checks.severity import severity_policy
from apportion_compiler.diagnostics.diagnostic import Diagnostic, has_errors, in_order, judge
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import PolicyGraph, Scope, build_graph
from apportion_policy.policy import Policy

if TYPE_CHECKING:
    from apportion_compiler.backends.capability import Output
    from apportion_compiler.ir.program import Program


@dataclass(frozen=True, slots=True)
class Checked:
    """A policy's findings, and its graph where the structure is sound."""

    graph: PolicyGraph | None
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """One cluster of one environment, and the backend that writes for it."""

    environment: str
    cluster: str
    backend: str


@dataclass(frozen=True, slots=True)
class Compilation:
    """What was made for each target, and every finding. Empty outputs beside errors."""

    programs: Mapping[Target, Program]
    outputs: Mapping[Target, Output]
    diagnostics: tuple[Diagnostic, ...]


def check_policy(policy: Policy, as_of: date) -> Checked:
    """Return every finding about a policy on a date, judged by its own rules of severity and waivers."""
    severities = severity_policy(policy, as_of)
    declarations = declare(policy)
    found = judge((d for check in STRUCTURE_CHECKS for d in check(declarations, as_of)), severities)
    if has_errors(found):
        return Checked(None, in_order(found))
    graph = build_graph(declarations, as_of)
    found += judge((d for check in CHECKS for d in check(graph)), severities)
    found += judge((d for check in JUDGED_CHECKS for d in check(policy, as_of, found)), severities)
    return Checked(graph, in_order(found))


def compile_policy(policy: Policy, targets: tuple[Target, ...], as_of: date) -> Compilation:
    """Check a policy and emit it for the targets given.

    A pure function of its arguments: the same input gives the same output, byte for byte once written.
    """
    # What only emission needs is loaded here: checking a policy is a third faster without it.
    from apportion_compiler.backends import BACKENDS, EMITTERS
    from apportion_compiler.fidelity import fidelity_findings
    from apportion_compiler.ir.lower import lower

    checked = check_policy(policy, as_of)
    if checked.graph is None or has_errors(checked.diagnostics):
        return Compilation({}, {}, checked.diagnostics)
    programs = {target: lower(checked.graph, _scope(checked.graph, target)) for target in targets}
    severities = severity_policy(policy, as_of)
    refused = judge(
        (
            d
            for t, program in programs.items()
            if t.backend in BACKENDS
            for d in fidelity_findings(program, BACKENDS[t.backend])
        ),
        severities,
    )
    diagnostics = in_order((*checked.diagnostics, *refused))
    if has_errors(refused):
        return Compilation({}, {}, diagnostics)
    outputs = {target: EMITTERS[target.backend].emit(program) for target, program in programs.items()}
    return Compilation(programs, outputs, diagnostics)


def _scope(graph: PolicyGraph, target: Target) -> Scope:
    return graph.scope(target.environment, target.cluster)
