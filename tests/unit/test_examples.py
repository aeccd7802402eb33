"""Every example compiles for all of its environments, and literal transcriptions report the faults of their seeds."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from apportion_cli.main import main

_ROOT = Path(__file__).parents[2]
_EXAMPLES = sorted(path.parent for path in _ROOT.glob("examples/*/policy.py"))
_LITERAL = {
    "seed-000-kai-ray": {"AP204"},
    "seed-001-kai-vllm": {"AP204"},
    "seed-002-ack-kube-queue": {"AP601"},
    "seed-003-gke-dws": {"AP601"},
    "seed-004-ai-scheduling": {"AP405"},
}
_LITERAL_MANIFESTS = {
    "seed-001-kai-vllm": {
        "AP702": "stays at replicas: 1",  # The text has two workers.
        "AP703": "Limit must be set",
    },
    "seed-002-ack-kube-queue": {
        "AP701": "also named devops; names must be unique in the tree",
    },
    "seed-003-gke-dws": {
        "AP701": 'no matches for kind "PodTemplate" in version "v10"',
        "AP706": "still reads cluster-autoscaler.kubernetes.io/consume-provisioning-request",
    },
    "seed-004-ai-scheduling": {
        "AP701": "plugin GPUAffinity does not exist",
        "AP702": "limits.nvidia.com/gpu has no effect",
    },
}


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a command."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Result]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.chdir(_ROOT)

    def call(*arguments: str) -> Result:
        code = main(arguments)
        captured = capfd.readouterr()
        return Result(code, captured.out, captured.err)

    yield call
    gc.enable()


@pytest.mark.parametrize("example", _EXAMPLES, ids=lambda path: path.name)
def test_example_has_no_findings(example: Path, run: Run) -> None:
    checked = run("validate", str(example.relative_to(_ROOT)), "--as-of", "2026-11-21", "--fail-on", "warning")
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("example", _EXAMPLES, ids=lambda path: path.name)
def test_compilation_of_an_example_is_deterministic(example: Path, tmp_path: Path, run: Run) -> None:
    where = ["compile", str(example.relative_to(_ROOT)), "--as-of", "2026-11-21", "--out", str(tmp_path)]
    first = run(*where)
    assert first.returncode == 0, first.stdout + first.stderr
    # A process has a different hash seed.
    command = [sys.executable, "-m", "apportion_cli.main", *where, "--check"]
    again = subprocess.run(command, capture_output=True, text=True, check=False, cwd=_ROOT)
    assert again.returncode == 0, again.stdout + again.stderr


@pytest.mark.parametrize("name", sorted(_LITERAL))
def test_literal_policies_reproduce_faults_of_their_seeds(name: str, run: Run) -> None:
    where = (f"examples/{name}/literal.py", "--as-of", "2026-11-21", "--fail-on", "never")
    shown = run("validate", *where, "-o", "github")
    assert shown.returncode == 0, shown.stderr
    assert {code for code in _LITERAL[name] if code in shown.stdout} == _LITERAL[name]
    assert f"file=examples/{name}/literal.py" in shown.stdout


@pytest.mark.parametrize("name", sorted(_LITERAL_MANIFESTS))
def test_literal_manifests_reproduce_faults_of_their_seeds(name: str, run: Run) -> None:
    shown = run("validate", "--manifests", f"examples/{name}/literal.yaml", "--fail-on", "never", "-o", "json")
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)["findings"]
    assert {finding["code"] for finding in found} == _LITERAL_MANIFESTS[name].keys()
    for code, message in _LITERAL_MANIFESTS[name].items():
        assert any(finding["code"] == code and message in finding["message"] for finding in found)


_WORKLOADS = {"seed-001-kai-vllm": ("team-a",), "seed-004-ai-scheduling": ("ai-queue", "--env", "plain")}
"""The queue of an example's workloads, and where it has several environments, the one that they are for."""


def test_every_workload_file_is_tested() -> None:
    assert {path.parent.name for path in _ROOT.glob("examples/*/workloads.yaml")} == _WORKLOADS.keys()


@pytest.mark.parametrize("name", sorted(_WORKLOADS))
def test_workloads_of_an_example_bind(name: str, tmp_path: Path, run: Run) -> None:
    path = _ROOT / "examples" / name / "workloads.yaml"
    found = run("validate", "--manifests", str(path), "--fail-on", "warning")
    assert found.returncode == 0, found.stdout
    where = (*_WORKLOADS[name], "-p", str(path.parent))
    bound = run("bind", *where, "--from", str(path), "-o", f"yaml={tmp_path / 'bound.yaml'}")
    assert bound.returncode == 0, bound.stderr
    assert [line for line in bound.stderr.splitlines() if not line.startswith("apportion: note: ")] == []
    again = run("validate", "--manifests", str(tmp_path / "bound.yaml"), "--fail-on", "warning")
    assert again.returncode == 0, again.stdout
