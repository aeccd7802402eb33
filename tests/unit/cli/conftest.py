"""The real command: `run` in this process, with policies in a child process; `run_process` like a shell."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from apportion_cli.main import main

if TYPE_CHECKING:
    from tests.unit.cli.plugin_clusters import Plugin, Told
    from tests.unit.runtime.kube.api_server import ApiServer

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


@pytest.fixture
def server() -> ApiServer:
    """The cluster of the kubectl plugin."""
    # The extra `kube` may not be installed.
    from tests.unit.cli.plugin_clusters import small_cluster

    return small_cluster()


@pytest.fixture
def kubeconfig(server: ApiServer, tmp_path: Path) -> Iterator[Path]:
    from tests.unit.cli.plugin_clusters import kubeconfig_of

    with kubeconfig_of(server, tmp_path / "kubeconfig") as file:
        yield file


@pytest.fixture
def plugin(kubeconfig: Path, capfd: pytest.CaptureFixture[str]) -> Plugin:
    """`kubectl apportion` on the cluster."""
    from tests.unit.cli.plugin_clusters import Told

    from apportion_cli.kubectl.plugin import main as kubectl_apportion

    def call(*arguments: str | Path) -> Told:
        code = kubectl_apportion([*map(str, arguments), "--kubeconfig", str(kubeconfig)])
        captured = capfd.readouterr()
        return Told(code, captured.out, captured.err)

    return call
