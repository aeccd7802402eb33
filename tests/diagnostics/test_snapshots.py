"""Each rule on snapshots of clusters reports faults at the right line, and nothing for valid input.

A case is a folder `AP8<nn>-<name>`: `bad.yaml`, where the line of a finding ends with the comment `# <CODE>`,
`good.yaml` and `expected.txt`, which `pytest --update-golden` rewrites.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from apportion_compiler.checks.snapshots import SNAPSHOTS
from apportion_compiler.diagnostics.diagnostic import Severity
from apportion_runtime.snapshots.document_loader import Source
from apportion_runtime.snapshots.faults import ERRORS, KINDS, Fault
from apportion_runtime.snapshots.snapshot_reader import read_snapshot

CASES = sorted(Path(__file__).parent.glob("AP8*-*"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fault_is_found_at_its_line(case: Path, update_golden: bool) -> None:
    code = case.name.partition("-")[0]
    text = (case / "bad.yaml").read_text(encoding="utf-8")
    found = [fault for fault in _faults(text, "bad.yaml") if SNAPSHOTS[fault.kind].code == code]
    marked = [n for n, line in enumerate(text.splitlines(), start=1) if re.search(rf"# {code}$", line)]
    assert sorted({fault.line for fault in found}) == marked, found
    shown = "".join(map(_shown, found))
    if update_golden:
        (case / "expected.txt").write_text(shown, encoding="utf-8")
    else:
        assert shown == (case / "expected.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_valid_snapshot_passes(case: Path) -> None:
    assert _faults((case / "good.yaml").read_text(encoding="utf-8"), "good.yaml") == ()


def test_every_kind_of_fault_has_its_rule() -> None:
    assert tuple(SNAPSHOTS) == KINDS
    assert {kind for kind, rule in SNAPSHOTS.items() if rule.severity is Severity.ERROR} == ERRORS


def _faults(text: str, file: str) -> tuple[Fault, ...]:
    return read_snapshot([Source(file, text)]).faults


def _shown(fault: Fault) -> str:
    rule = SNAPSHOTS[fault.kind]
    lines = [f"{fault.file}:{fault.line}: {rule.severity.value}[{rule.code}] {fault.message}"]
    return "\n".join((*lines, f"  in {fault.address}", f"  hint: {fault.hint}", ""))
