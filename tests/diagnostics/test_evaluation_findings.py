"""An evaluation without a policy ends in one finding of the right rule, at the author's line if there is one.

A case is a folder `AP0<nn>-<kind>`: every `bad…` file in it is evaluated as the command does, in a child process,
and so is every `good…` one.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from apportion_compiler.checks.evaluation_faults import AUTHORING, authoring_findings
from apportion_compiler.diagnostics.diagnostic import Diagnostic
from apportion_policy.evaluation.fault import Fault, FaultKind
from apportion_policy.evaluation.limits import MIB, Limits
from apportion_policy.evaluation.parent import start
from apportion_policy.evaluation.result import EvaluatedPolicy, Rejected
from apportion_policy.source import NOWHERE

HERE = Path(__file__).parent
LIMITS = Limits(cpu_s=2, memory_bytes=1024 * MIB)


def _cases(pattern: str) -> list[object]:
    files = sorted(HERE.glob(f"AP0*/{pattern}"))
    return [pytest.param(file, id=f"{file.parent.name}/{file.name}") for file in files]


@pytest.mark.parametrize("file", _cases("bad*.*"))
def test_fault_becomes_a_finding(file: Path) -> None:
    code, _, kind = file.parent.name.partition("-")
    found = _findings(file)
    assert {(d.code, d.rule.name) for d in found} == {(code, kind)}, found
    assert all(d.at.file == str(file) for d in found)
    # Without a faulty line, the finding is for the whole file.
    expected = _marked(file, code) or {d.at.line for d in found}
    assert {d.at.line for d in found} == expected, found
    assert _marked(file, f"{code} called here") <= {r.at.line for d in found for r in d.related}, found


@pytest.mark.parametrize("file", _cases("good*.*"))
def test_valid_input_is_evaluated(file: Path) -> None:
    outcome = start(file, LIMITS).result()
    assert isinstance(outcome, EvaluatedPolicy), outcome


def test_every_kind_of_fault_has_a_rule() -> None:
    assert list(AUTHORING) == list(get_args(FaultKind))
    assert [rule.code for rule in AUTHORING.values()] == [f"AP{n:03d}" for n in range(1, len(AUTHORING) + 1)]
    assert all(kind == rule.name for kind, rule in AUTHORING.items())


def test_fault_without_file_has_no_location() -> None:
    (found,) = authoring_findings([Fault("no-policy", "the folder teams holds none of policy.py", hint="name a file")])
    assert (found.address, found.at, found.hint) == ("policy", NOWHERE, "name a file")
    assert found.at.line == 0


def _findings(file: Path) -> tuple[Diagnostic, ...]:
    outcome = start(file, LIMITS).result()
    assert isinstance(outcome, Rejected), outcome
    return authoring_findings(outcome.faults)


def _marked(file: Path, mark: str) -> set[int]:
    ending = re.compile(rf"# {mark}$")
    lines = file.read_bytes().decode("utf-8", "replace").splitlines()
    return {number for number, line in enumerate(lines, start=1) if ending.search(line)}
