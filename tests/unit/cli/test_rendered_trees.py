"""A policy takes precedence over its rendered trees; a rendered tree is used only by its own path."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from apportion_cli.main import main
from apportion_cli.outcomes import OutcomeError
from apportion_cli.outcomes import run as simulated

from .conftest import Run

POLICY = """\
organisation: {{name: acme, owner: "@acme/platform"}}
queues:
  - id: research
    limit: {{gpu: {limit}}}
    namespaces: [research]
environments:
  - {{name: dev, clusters: [{{name: lab, engine: kai, engine_version: "0.17.0"}}]}}
  - {{name: prod, clusters: [{{name: eu, engine: kai, engine_version: "0.17.0"}}, {{name: us, engine: kai, engine_version: "0.17.0"}}]}}
"""
SCENARIO = """\
until: 1d
nodes: [{pool: gpu, count: 1, gpus: 4, cpu: 64, memory: 256Gi}]
workloads: [{name: big, kind: Job, queue: research, namespace: research, gpus: 4, duration: 1h}]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy whose queue may have four GPUs, beside rendered trees of the time when it could have one."""
    made = tmp_path_factory.mktemp("policy")
    (made / "load.yaml").write_text(SCENARIO)
    (made / "policy.yaml").write_text(POLICY.format(limit=1))
    assert main(["compile", str(made), "--out", str(made / "rendered")]) == 0
    (made / "policy.yaml").write_text(POLICY.format(limit=4))
    return made


@pytest.mark.parametrize("named", [True, False])
def test_policy_takes_precedence_over_rendered_tree(
    run: Run, folder: Path, named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    source = (folder,) if named else ()
    result = run("simulate", *source, "--env", "dev", "--scenario", folder / "load.yaml", "-o", "json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["workloads"][0]["outcome"] == "succeeded"


def test_rendered_tree_is_simulated_by_path(run: Run, folder: Path) -> None:
    result = run("simulate", folder / "rendered/dev/lab", "--scenario", folder / "load.yaml", "-o", "json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["workloads"][0]["outcome"] == "unfinished"


def test_unknown_environment_is_refused(run: Run, folder: Path) -> None:
    result = run("simulate", folder, "--env", "nope", "--scenario", folder / "load.yaml")
    assert result.code == 2
    assert "nope" in result.err


@pytest.mark.parametrize("option", ["--env", "--cluster"])
def test_rendered_tree_rejects_environment_option(run: Run, folder: Path, option: str) -> None:
    result = run("simulate", folder / "rendered/dev/lab", option, "dev", "--scenario", folder / "load.yaml")
    assert result.code == 2
    assert f"{option} dev selects a cluster in a policy" in result.err


def test_trees_of_several_clusters_are_refused(run: Run, folder: Path) -> None:
    result = run("simulate", folder / "rendered", "--scenario", folder / "load.yaml")
    assert result.code == 2
    assert "contains the rendered trees of more than one cluster; choose one: " in result.err


def test_policy_is_compared_with_its_rendered_tree(run: Run, folder: Path) -> None:
    result = run(
        "simulate", folder, "--env", "dev", "--scenario", folder / "load.yaml", "--against", folder / "rendered/dev/lab"
    )
    assert result.code == 0, result.err


def test_outcome_tests_accept_a_policy(folder: Path) -> None:
    simulated(str(folder), str(folder / "load.yaml"), env="dev").assert_succeeds()
    with pytest.raises(OutcomeError, match="selects a cluster in a policy"):
        simulated(str(folder / "rendered/dev/lab"), str(folder / "load.yaml"), env="dev")
