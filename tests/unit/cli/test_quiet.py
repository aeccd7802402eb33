"""`-q` prints findings and requested results: no progress, no summaries."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run


@pytest.fixture
def policy(run: Run, tmp_path: Path) -> Path:
    made = run("init", tmp_path / "quotas", "--organisation", "acme", "-q")
    assert (made.code, made.out, made.err) == (0, "", "")
    return tmp_path / "quotas"


def test_quiet_compilation_prints_nothing(run: Run, policy: Path) -> None:
    out = policy / "rendered"
    for arguments in (
        ("validate", policy),
        ("compile", policy, "--out", out),
        ("compile", policy, "--out", out, "--check"),
    ):
        told = run(*arguments, "-q")
        assert (told.code, told.out, told.err) == (0, "", ""), arguments


def test_quiet_check_prints_differences(run: Run, policy: Path) -> None:
    out = policy / "rendered"
    assert run("compile", policy, "--out", out, "-q").code == 0
    (out / "dev/main/native/kustomization.yaml").write_text("resources: []\n")
    told = run("compile", policy, "--out", out, "--check", "-q")
    assert told.code == 10
    assert [line.split("  ")[-1] for line in told.out.splitlines()] == [
        "1 file would be changed",
        "differs: kustomization.yaml",
    ]


def test_findings_name_the_explain_command(run: Run, policy: Path) -> None:
    team = policy / "teams/vision.py"
    team.write_text(team.read_text().replace("16", "99"))
    told = run("validate", policy)
    assert "  docs: apportion explain AP201\n" in told.out
    assert "docs/diagnostics" not in told.out
    assert run("explain", "AP201").out.startswith("# AP201")
