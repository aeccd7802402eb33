"""AP119 concerns files, so its cases are folders, evaluated by the command."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from apportion_compiler.compile import check_policy
from apportion_compiler.diagnostics.diagnostic import Diagnostic
from apportion_policy.evaluated_policy import policy_of
from apportion_policy.evaluation.parent import start
from apportion_policy.evaluation.result import EvaluatedPolicy

CASE = Path(__file__).parent / "AP119-file-not-read"


def _found(folder: Path) -> list[Diagnostic]:
    outcome = start(folder).result()
    assert isinstance(outcome, EvaluatedPolicy), outcome
    found = check_policy(policy_of(outcome, folder), date(2026, 11, 21)).diagnostics
    return [d for d in found if d.code == "AP119"]


def test_unread_files_are_reported(update_golden: bool) -> None:
    found = _found(CASE / "bad")
    assert [d.at.file for d in found] == ["speech.py", "teams/retired/nlp.yaml"]
    text = "".join(
        f"{d.at.file}:{d.at.line}: {d.effective_severity.value}[{d.code}] {d.message}\n  in {d.address}\n"
        f"  hint: {d.hint}\n"
        for d in found
    )
    expected = CASE / "expected.txt"
    if update_golden:
        expected.write_text(text, encoding="utf-8")
    else:
        assert text == expected.read_text(encoding="utf-8")


def test_fully_read_folder_passes() -> None:
    assert _found(CASE / "good") == []
