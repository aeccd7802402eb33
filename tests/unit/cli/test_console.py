"""Colour is used only where it is expected."""

from __future__ import annotations

import io

import pytest

from apportion_cli.console import Console, wants_color

from .conftest import Run


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "asked", "terminal", "pipe"),
    [
        ({}, None, True, False),
        ({"NO_COLOR": "1"}, None, False, False),
        ({"NO_COLOR": ""}, None, True, False),
        ({"FORCE_COLOR": "1"}, None, True, True),
        ({"FORCE_COLOR": "0"}, None, True, False),
        ({"CLICOLOR_FORCE": "1"}, None, True, True),
        ({"CLICOLOR": "0"}, None, False, False),
        ({"TERM": "dumb"}, None, False, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, None, False, False),
        ({"NO_COLOR": "1"}, True, True, True),
        ({"FORCE_COLOR": "1"}, False, False, False),
        ({"CI": "true"}, None, True, False),
    ],
)
def test_precedence_of_colour_settings(
    environment: dict[str, str], asked: bool | None, terminal: bool, pipe: bool
) -> None:
    assert wants_color(_Terminal(), environment, asked=asked) is terminal
    assert wants_color(io.StringIO(), environment, asked=asked) is pipe


def test_flags_before_and_after_the_command(run: Run) -> None:
    coloured = "\x1b[1mauthoring"
    assert coloured in run("--color", "rules").out
    assert coloured in run("rules", "--color").out
    assert coloured not in run("--color", "rules", "--no-color").out
    assert "\x1b" not in run("rules").out


@pytest.mark.parametrize(("environment", "shown"), [({}, True), ({"CI": "true"}, False), ({"TERM": "dumb"}, False)])
def test_progress_is_shown_only_on_a_terminal(
    environment: dict[str, str], shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stderr", _Terminal())
    assert Console().shows_progress() is shown
    assert not Console(verbosity=-1).shows_progress()
