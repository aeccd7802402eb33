"""Every example compiles for all of its environments, and the literal transcriptions show the faults of their seeds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_EXAMPLES = sorted(path.parent for path in _ROOT.glob("examples/*/policy.py"))
_LITERAL = {"seed-000-kai-ray": {"AP204"}}
_APPORTION = [sys.executable, "-m", "apportion_cli.main"]


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*_APPORTION, *arguments], capture_output=True, text=True, check=False, cwd=_ROOT)


@pytest.mark.parametrize("example", _EXAMPLES, ids=lambda path: path.name)
def test_an_example_has_no_finding(example: Path) -> None:
    checked = _run("validate", str(example.relative_to(_ROOT)), "--as-of", "2026-11-21", "--fail-on", "warning")
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("example", _EXAMPLES, ids=lambda path: path.name)
def test_an_example_compiles_to_the_same_bytes_twice(example: Path, tmp_path: Path) -> None:
    where = ["compile", str(example.relative_to(_ROOT)), "--as-of", "2026-11-21", "--out", str(tmp_path)]
    first = _run(*where)
    assert first.returncode == 0, first.stdout + first.stderr
    again = _run(*where, "--check")
    assert again.returncode == 0, again.stdout + again.stderr


@pytest.mark.parametrize("name", sorted(_LITERAL))
def test_a_literal_transcription_shows_the_faults_of_its_seed(name: str) -> None:
    shown = _run("validate", f"examples/{name}/literal.py", "--as-of", "2026-11-21", "-o", "github")
    assert shown.returncode == 0
    assert {code for code in _LITERAL[name] if code in shown.stdout} == _LITERAL[name]
    assert f"file=examples/{name}/literal.py" in shown.stdout
