"""The compiler's pipeline. Start reading here.

Errors of one phase stop the next phase, not the rest of their own, so that an author sees all faults of a phase at
once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING

from apportion_compiler.backends import BACKENDS, EMITTERS
from apportion_compiler.backends.object_families import managed
from apportion_compiler.checks import CHECKS, FINDING_CHECKS, STRUCTURE_CHECKS
from apportion_compiler.checks.refusals import REFUSALS
from apportion_compiler.checks.severity import severity_policy
from apportion_compiler.diagnostics.diagnostic import Diagnostic, apply_severities, has_errors, in_order
from apportion_compiler.fidelity import fidelity_findings
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import PolicyGraph, build_graph
from apportion_compiler.ir.lower import lower
from apportion_policy.policy import Policy

if TYPE_CHECKING:
    from apportion_compiler.backends.capability import Output
    from apportion_compiler.ir.program import Program


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The findings of a policy and, if its structure is valid, its graph and the program of each cluster.

    `programs` is keyed by the name of the cluster's scope, such as `prod/gpu-1`.
    """

    graph: PolicyGraph | None
    diagnostics: tuple[Diagnostic, ...]
    programs: Mapping[str, Program] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Target:
    """One cluster of one environment, and the backend that emits for it."""

    environment: str
    cluster: str
    backend: str

    @property
    def scope(self) -> str:
        """The name of its cluster's scope, such as `prod/gpu-1`."""
        return f"{self.environment}/{self.cluster}"


@dataclass(frozen=True, slots=True)
class Compilation:
    """The output of each target, and every finding. Outputs are empty if there are errors."""

    programs: Mapping[Target, Program]
    outputs: Mapping[Target, Output]
    diagnostics: tuple[Diagnostic, ...]


def check_policy(policy: Policy, as_of: date) -> CheckResult:
    """Return the findings of a policy on a date, with its severities and waivers applied.

    They include features that the engine of a cluster does not support: emitting a policy reports no further findings.
    """
    severities = severity_policy(policy, as_of)
    declarations = declare(policy)
    found = apply_severities((d for check in STRUCTURE_CHECKS for d in check(declarations, as_of)), severities)
    if has_errors(found):
        return CheckResult(None, in_order(found))
    graph = build_graph(declarations, as_of)
    programs = {scope.name: lower(graph, scope) for scope in graph.scopes if scope.name is not None}
    found += apply_severities((d for check in CHECKS for d in check(graph)), severities)
    found += apply_severities(
        (d for p in programs.values() for d in fidelity_findings(p, BACKENDS[p.engine])), severities
    )
    found += apply_severities((d for check in FINDING_CHECKS for d in check(declarations, as_of, found)), severities)
    return CheckResult(graph, in_order(found), programs)


def compile_policy(policy: Policy, targets: tuple[Target, ...], as_of: date) -> Compilation:
    """Check a policy and emit it for the targets given.

    A pure function of its arguments: the same input gives the same output, byte for byte once written. Findings that
    exist only on clusters or engines outside the targets are omitted and do not stop emission.
    """
    return compile_checked(check_policy(policy, as_of), targets)


def compile_checked(checked: CheckResult, targets: tuple[Target, ...]) -> Compilation:
    """Emit a policy that has been checked. See `compile_policy`."""
    compilation = compile_on_demand(checked, targets)
    return replace(compilation, outputs=dict(compilation.outputs))


def compile_on_demand(checked: CheckResult, targets: tuple[Target, ...]) -> Compilation:
    """Emit a checked policy target by target: each look-up of an output emits it, and none is kept."""
    diagnostics = _findings_of(checked, lambda code, scope: _concerns(code, scope, targets, checked.programs))
    if checked.graph is None or has_errors(diagnostics):
        return Compilation({}, {}, diagnostics)
    programs = {target: checked.programs[target.scope] for target in targets}
    return Compilation(programs, EmittedOutputs(programs), diagnostics)


class EmittedOutputs(Mapping[Target, "Output"]):
    """The output of each target, emitted when it is looked up."""

    def __init__(self, programs: Mapping[Target, Program]) -> None:
        self._programs = programs

    def __getitem__(self, target: Target) -> Output:
        program = self._programs[target]
        return managed(EMITTERS[target.backend].emit(program), program)

    def __iter__(self) -> Iterator[Target]:
        return iter(self._programs)

    def __len__(self) -> int:
        return len(self._programs)


def in_environments(checked: CheckResult, environments: Collection[str]) -> tuple[Diagnostic, ...]:
    """Return the findings for the policy as written and for clusters of the environments; all if none are given."""
    if not environments:
        return checked.diagnostics
    return _findings_of(checked, lambda _, scope: scope.partition("/")[0] in environments)


def _findings_of(checked: CheckResult, concerns: Callable[[str, str], bool]) -> tuple[Diagnostic, ...]:
    """Return the findings for the policy as written, and those of a code and a scope that `concerns` selects.

    Many checks report a fault of several clusters once, for the first of them. If such findings are left out, the
    selected clusters are therefore checked again without the others.
    """
    found = tuple(
        d
        for d in checked.diagnostics
        if d.scope is None or any(concerns(d.code, scope) for scope in (d.scope, *d.also))
    )
    graph, kept = checked.graph, set(map(id, found))
    if graph is None or all(id(d) in kept or d.code in REFUSALS for d in checked.diagnostics):
        return found
    known = {(d.code, d.address, d.scope, d.message) for d in found}
    merged = {(d.code, scope) for d in found for scope in d.also}
    alone = graph.restricted_to(name for name in checked.programs if concerns("", name))
    again = apply_severities((d for check in CHECKS for d in check(alone)), severity_policy(graph.policy, graph.as_of))
    added = (
        d
        for d in again
        if d.scope is not None
        and (d.code, d.scope) not in merged
        and (d.code, d.address, d.scope, d.message) not in known
    )
    return in_order((*found, *added))


def _concerns(code: str, scope: str, targets: tuple[Target, ...], programs: Mapping[str, Program]) -> bool:
    # Some findings apply to a whole environment.
    backends = {target.backend for target in targets if scope in (target.scope, target.environment)}
    return programs[scope].engine in backends if code in REFUSALS else bool(backends)
