"""Each rule reports faults at the right line in Python, in helper functions and in YAML, and nothing for valid input.

A case is a folder `<CODE>-<name>`. The line where a finding must stand ends with the comment `# <CODE>`; in
`bad_helper.py` that line is the constructor call inside the helper, and the caller's line, `# <CODE> called here`,
must be among the related places. Rewrite `expected.txt` with `pytest --update-golden`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from apportion_compiler.diagnostics.diagnostic import Diagnostic

Findings = Callable[[str, str], tuple[Diagnostic, ...]]

HERE = Path(__file__).parent
NO_POLICIES = ("AP0", "AP119", "AP7", "AP8")
"""What could not be evaluated or was not read, raw manifests and snapshots: they have tests of their own."""
CASES = sorted(folder for folder in HERE.glob("AP*-*") if not folder.name.startswith(NO_POLICIES))
BAD = ("bad.py", "bad_helper.py", "bad.yaml")
GOOD = ("good.py", "good.yaml")


def _cases(*files: str) -> list[object]:
    return [
        pytest.param(case, file, id=f"{case.name}/{file}") for case in CASES for file in files if (case / file).exists()
    ]


@pytest.mark.parametrize(("case", "file"), _cases(*BAD))
def test_fault_is_found_at_its_line(case: Path, file: str, findings: Findings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case)
    code = _code(case)
    found = [d for d in findings(file, code) if d.code == code]
    assert {(d.at.file, d.at.line) for d in found} == {(file, line) for line in _marked(file, code)}, _text(found)
    called = {(file, line) for line in _marked(file, f"{code} called here")}
    assert called <= {(r.at.file, r.at.line) for d in found for r in d.related}, _text(found)
    assert called or file != "bad_helper.py", "mark the line that calls the helper"


@pytest.mark.parametrize(("case", "file"), _cases(*GOOD))
def test_valid_policy_passes(case: Path, file: str, findings: Findings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case)
    code = _code(case)
    found = [d for d in findings(file, code) if d.code == code]
    assert found == [], _text(found)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_message_matches_golden_file(
    case: Path, findings: Findings, monkeypatch: pytest.MonkeyPatch, update_golden: bool
) -> None:
    monkeypatch.chdir(case)
    code = _code(case)
    text = _text([d for d in findings("bad.py", code) if d.code == code])
    expected = case / "expected.txt"
    if update_golden:
        expected.write_text(text, encoding="utf-8")
    else:
        assert text == expected.read_text(encoding="utf-8")


def _code(case: Path) -> str:
    return case.name.partition("-")[0]


def _marked(file: str, mark: str) -> list[int]:
    ending = re.compile(rf"# {mark}$")
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    return [number for number, line in enumerate(lines, start=1) if ending.search(line)]


def _text(found: list[Diagnostic]) -> str:
    return "".join(_finding(d) for d in found)


def _finding(d: Diagnostic) -> str:
    lines = [f"{d.at.file}:{d.at.line}: {d.effective_severity.value}[{d.code}] {d.message}"]
    lines.append(f"  in {d.address}" + (f" on {d.scope}" if d.scope else ""))
    lines += [f"  {r.at.file}:{r.at.line}: {r.message}" for r in d.related]
    if d.hint is not None:
        lines.append(f"  hint: {d.hint}")
    if d.fix is not None:
        value = "removed" if d.fix.value is None else f"= {d.fix.value!r}"
        lines.append(f"  fix: line {d.fix.at.line}, {'.'.join(d.fix.path)} {value}")
    return "\n".join(lines) + "\n"
