"""The example of pull requests: its scripts make the history, and each review makes the comment that is shown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/pull-request"
EXITS = {"1-rename": 10, "2-move": 10, "3-cut": 10, "4-priorities": 10, "5-overcommit": 1}


@pytest.fixture(scope="module")
def comments(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of the comments, and what the script printed."""
    folder = tmp_path_factory.mktemp("example")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("APPORTION_", "GIT_"))}
    environment = {**kept, "PATH": f"{Path(sys.executable).parent}:{kept['PATH']}", "HOME": str(folder)}

    def run(script: str, *arguments: Path) -> str:
        command = [str(EXAMPLE / script), *map(str, arguments)]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout

    run("make-history", folder / "quota")
    return folder / "comments", run("review", folder / "quota", folder / "comments")


def test_exit_codes(comments: tuple[Path, str]) -> None:
    assert comments[1].splitlines() == [f"{name}: exit {code}" for name, code in EXITS.items()]


@pytest.mark.parametrize("name", EXITS)
def test_comment(name: str, comments: tuple[Path, str], update_golden: bool) -> None:
    made = re.sub(r"apportion \d\S*", "apportion VERSION", (comments[0] / f"{name}.md").read_text(encoding="utf-8"))
    expected = EXAMPLE / "comments" / f"{name}.md"
    if update_golden:
        expected.write_text(made, encoding="utf-8")
    assert made == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", EXITS)
def test_first_screen_has_at_most_25_lines(name: str, comments: tuple[Path, str]) -> None:
    text = (comments[0] / f"{name}.md").read_text(encoding="utf-8")
    assert len(text.partition("<details>")[0].splitlines()) <= 25


def test_snapshot_is_up_to_date(tmp_path: Path) -> None:
    script = tmp_path / "snapshot.py"
    script.write_bytes((EXAMPLE / "snapshot.py").read_bytes())
    subprocess.run([sys.executable, str(script)], check=True)
    assert (tmp_path / "snapshot.json").read_bytes() == (EXAMPLE / "snapshot.json").read_bytes()
