"""The command that takes a snapshot is the same in the help of every command and on the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from apportion_cli.snapshot_commands import SNAPSHOT_KINDS, snapshot_command

from .conftest import Run

PAGE = Path(__file__).parents[3] / "docs" / "review.md"
ENGINES = {
    "KAI Scheduler": "kai",
    "Kueue": "kueue",
    "Volcano": "volcano",
    "ACK": "ack",
    "Koordinator": "koordinator",
    "YuniKorn": "yunikorn",
    "plain Kubernetes": "native",
}


def test_page_has_the_command_of_each_engine() -> None:
    rows = dict(re.findall(r"^ *\| ([^|]+) \| `(kubectl get [^`]+)` \|$", PAGE.read_text(), re.MULTILINE))
    assert rows == {title: snapshot_command(engine) for title, engine in ENGINES.items()}
    assert set(ENGINES.values()) == set(SNAPSHOT_KINDS)


@pytest.mark.parametrize(("command", "more"), [("review", ""), ("fit", ",jobs"), ("simulate", "")])
def test_help_has_the_whole_command_in_lines_that_a_shell_joins(run: Run, command: str, more: str) -> None:
    shown = run(command, "--help").out
    assert max(map(len, shown.splitlines())) <= 80
    whole = snapshot_command("kai").replace(" -A", f"{more} -A")
    assert whole in re.sub(r"\\\n +", "", shown)
