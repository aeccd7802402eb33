"""The real command: `run` in this process, with policies in a child process; `run_process` like a shell."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from apportion_cli.main import main

_OURS = ("APPORTION_", "GITHUB_", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CI", "_APPORTION")


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def quiet_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """An empty current folder, no environment variables that affect the command, and its garbage collector restored."""
    for name in os.environ:
        if name.startswith(_OURS):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    yield
    gc.enable()


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str | Path) -> Result:
        code = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return Result(code, captured.out, captured.err)

    return call


@pytest.fixture
def run_process() -> Run:
    def call(*arguments: str | Path, environment: Mapping[str, str] | None = None, stdin: str = "") -> Result:
        finished = subprocess.run(
            [sys.executable, "-m", "apportion_cli.main", *map(str, arguments)],
            capture_output=True,
            text=True,
            input=stdin,
            env={**os.environ, **(environment or {})},
            check=False,
        )
        return Result(finished.returncode, finished.stdout, finished.stderr)

    return call
