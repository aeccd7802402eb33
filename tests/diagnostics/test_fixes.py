"""Applying the fix of a finding to the author's file resolves the finding."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from apportion_compiler.diagnostics.diagnostic import Diagnostic
from apportion_compiler.fixes import apply_edits, text_edit

Findings = Callable[[str, str], tuple[Diagnostic, ...]]

CASES = sorted(
    folder for folder in Path(__file__).parent.glob("AP*-*") if not folder.name.startswith(("AP0", "AP7", "AP8"))
)


PAIRS = [(case, file) for case in CASES for file in ("bad.py", "bad.yaml") if (case / file).exists()]


@pytest.mark.parametrize(("case", "file"), PAIRS, ids=lambda part: part if isinstance(part, str) else part.name)
def test_fix_removes_the_finding(
    case: Path, file: str, findings: Findings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    code = case.name.partition("-")[0]
    shutil.copy(case / file, file)
    original = Path(file).read_text(encoding="utf-8")
    found = [d for d in findings(file, code) if d.code == code]
    for finding in found:
        if finding.fix is None:
            continue
        Path(file).write_text(original, encoding="utf-8")
        edit = text_edit(finding.fix)
        assert edit is not None, f"the value {'.'.join(finding.fix.path)} was not found in the text"
        Path(file).write_text(apply_edits(original, [edit]), encoding="utf-8")
        left = Counter(d.fingerprint for d in findings(file, code))
        assert left[finding.fingerprint] < Counter(d.fingerprint for d in found)[finding.fingerprint], finding.fix
