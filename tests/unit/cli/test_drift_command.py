"""`apportion drift --export`: a cluster managed by another tool, compared with the compiled policy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Run = Callable[..., Any]
POLICY = Path(__file__).parents[3] / "examples" / "seed-000-kai-ray"


@pytest.fixture
def objects(run: Run, tmp_path: Path) -> list[dict[str, Any]]:
    """The compiled objects of the policy."""
    assert run("compile", POLICY, "--out", tmp_path / "rendered").code == 0
    files = (file for file in sorted((tmp_path / "rendered").rglob("*.yaml")) if file.name != "kustomization.yaml")
    documents = (document for file in files for document in yaml.safe_load_all(file.read_text()))
    return [each for each in documents if isinstance(each, dict) and "kind" in each and "metadata" in each]


def _export(folder: Path, objects: list[dict[str, Any]]) -> Path:
    file = folder / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return file


def test_unchanged_cluster_has_no_drift(run: Run, objects: list[dict[str, Any]], tmp_path: Path) -> None:
    told = run("drift", "demo", "--export", _export(tmp_path, objects), "-p", POLICY)
    assert (told.code, told.out) == (0, "demo: no drift\n")


@pytest.mark.parametrize("asked", [["--json"], ["-o", "json"], ["--json", "-o", "json"]], ids=" ".join)
def test_manually_changed_quota_is_reported_as_json(
    asked: list[str], run: Run, objects: list[dict[str, Any]], tmp_path: Path
) -> None:
    team = next(each for each in objects if each["kind"] == "Queue" and each["metadata"]["name"] == "team-a")
    team["spec"]["resources"]["gpu"]["quota"] = 1
    told = run("drift", "demo", "--export", _export(tmp_path, objects), "-p", POLICY, *asked)
    assert told.code == 10
    (changed,) = json.loads(told.out)["objects"]
    assert (changed["kind"], changed["name"]) == ("Queue", "team-a")
    assert changed["fields"] == [{"path": "spec.resources.gpu.quota", "written": 4, "there": 1}]
