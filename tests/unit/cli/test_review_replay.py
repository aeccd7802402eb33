"""`apportion review --replay`: changed inputs, altered reports, other versions, and commands that would write files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .test_review import MOVED, NOW, POLICY

Run = Callable[..., Any]
Report = dict[str, Any]


@pytest.fixture(autouse=True)
def report(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """The report of a change without a snapshot, which one owner has approved in a file."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("base", POLICY), ("head", MOVED)):
        Path(name).mkdir()
        Path(name, "policy.py").write_text(text)
    Path("owners.txt").write_text("# approved\n@acme/vision\n")
    told = run("review", "base", "head", "--require-approvals", "owners.txt", "-o", "json=report.json", *NOW)
    assert told.code == 10, told.err
    made: Report = json.loads(Path("report.json").read_text())
    return made


def _replay(run: Run, report: Report) -> Any:
    Path("report.json").write_text(json.dumps(report))
    return run("review", "--replay", "report.json")


def test_unchanged_report_is_reproduced(run: Run, report: Report) -> None:
    told = _replay(run, report)
    assert (told.code, told.err) == (10, "")


def test_changed_approvals_are_named(run: Run, report: Report) -> None:
    Path("owners.txt").write_text("@acme/vision\n@acme/speech\n")
    told = _replay(run, report)
    assert told.code == 3
    assert "the report cannot be reproduced: approvals changed after it was written" in told.err


def test_comments_of_the_approvals_are_no_change(run: Run, report: Report) -> None:
    Path("owners.txt").write_text("@acme/vision  # by mail\n")
    assert _replay(run, report).code == 10


def test_altered_value_is_named(run: Run, report: Report) -> None:
    report["approvals"][0]["given"] = False
    told = _replay(run, report)
    assert (told.code, told.out) == (3, "")
    assert "report.json was altered: `approvals[0].given` differs from a new report for the same inputs" in told.err


def test_report_of_another_version_that_differs_is_named(run: Run, report: Report) -> None:
    version = report["apportion"]
    report["apportion"] = "0.0.1"
    assert _replay(run, report).code == 10
    report["verdict"]["headline"] = "Nothing is affected"
    told = _replay(run, report)
    assert told.code == 3
    assert (
        f"report.json was written by apportion 0.0.1; apportion {version} reports a different `verdict.headline`"
        in told.err
    )


@pytest.mark.parametrize("option", ["-o json=other.json", "-ojson=other.json", "--replay report.json"])
def test_command_that_writes_or_replays_is_rejected(option: str, run: Run, report: Report) -> None:
    report["command"] += f" {option}"
    told = _replay(run, report)
    assert told.code == 3
    assert "report.json is not an `apportion review` report: its recorded command has the option --" in told.err
    assert not Path("other.json").exists()
