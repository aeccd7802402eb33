"""Each rule on raw manifests reports faults at the right line, and nothing for valid input.

A case is a folder `AP7<nn>-<name>`: `bad.yaml`, where the line of a finding ends with the comment `# <CODE>`,
`good.yaml` and `expected.txt`, which `pytest --update-golden` rewrites.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from apportion_compiler.diagnostics.diagnostic import Diagnostic
from apportion_compiler.manifests.manifest_checks import check_manifests
from apportion_compiler.manifests.manifest_parser import read_manifests

CASES = sorted(Path(__file__).parent.glob("AP7*-*"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fault_is_found_at_its_line(case: Path, update_golden: bool) -> None:
    code = case.name.partition("-")[0]
    text = (case / "bad.yaml").read_text(encoding="utf-8")
    found = [d for d in _findings(text, "bad.yaml") if d.code == code]
    marked = [n for n, line in enumerate(text.splitlines(), start=1) if re.search(rf"# {code}$", line)]
    assert sorted({d.at.line for d in found}) == marked, found
    shown = "".join(map(_shown, found))
    if update_golden:
        (case / "expected.txt").write_text(shown, encoding="utf-8")
    else:
        assert shown == (case / "expected.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_valid_manifests_pass(case: Path) -> None:
    assert _findings((case / "good.yaml").read_text(encoding="utf-8"), "good.yaml") == ()


def _findings(text: str, file: str) -> tuple[Diagnostic, ...]:
    read = read_manifests(text, file)
    return (*read.faults, *check_manifests(read.objects))


def _shown(d: Diagnostic) -> str:
    lines = [f"{d.at.file}:{d.at.line}:{d.at.column}: {d.effective_severity.value}[{d.code}] {d.message}"]
    return "\n".join((*lines, f"  in {d.address}", f"  hint: {d.hint}", ""))
