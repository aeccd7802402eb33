"""`up` and `preview` without an engine: one sentence and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from apportion_cli.main import main
from apportion_cli.stack_report import plan_json, plan_text
from apportion_cli.stacks import Plan, TargetChange

PLAN = Plan("prod", 2, (TargetChange("gpu-eu/volcano", 1, 2, 1), TargetChange("gpu-eu/native", 0, 0, 0)))


@pytest.fixture
def no_pulumi(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    (tmp_path / "Pulumi.yaml").write_text("name: x\nruntime: python\n")
    return tmp_path


@pytest.mark.parametrize("verb", ["up", "preview"])
def test_a_missing_engine_is_one_sentence_with_where_to_get_it(
    verb: str, no_pulumi: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, "dev", "--dir", str(no_pulumi)]) == 3
    assert capsys.readouterr().err == (
        "apportion: error: `pulumi` is not on PATH, and this command drives it\n"
        "  hint: install it: https://www.pulumi.com/docs/install/\n"
    )


def test_a_folder_without_a_project_is_told_how_to_get_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preview", "dev", "--dir", str(tmp_path)]) == 3
    said = capsys.readouterr().err
    assert "there is no Pulumi.yaml" in said
    assert "apportion init --pulumi" in said


def test_a_plan_names_what_changes_and_how_many_updates_it_takes() -> None:
    assert plan_text(PLAN) == (
        "prod/gpu-eu/volcano  1 to make, 2 to change, 1 to delete\n\n"
        "2 updates one after another, each of them valid by itself: no engine takes all of it at once\n"
    )
    assert plan_text(Plan("dev", 1, PLAN.changes[1:])) == "dev: nothing to do\n"


def test_a_plan_is_a_versioned_document() -> None:
    document = json.loads(plan_json(PLAN))
    assert (document["kind"], document["updates"]) == ("StackPlan", 2)
    assert document["targets"][0] == {"target": "gpu-eu/volcano", "made": 1, "changed": 2, "deleted": 1}


def test_init_with_pulumi_writes_a_stack_for_each_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", str(tmp_path / "quotas"), "--pulumi", "--organisation", "beta"]) == 0
    assert f"apportion preview dev --dir {tmp_path / 'quotas'}" in capsys.readouterr().out
    project = yaml.safe_load((tmp_path / "quotas" / "Pulumi.yaml").read_text())
    assert (project["name"], project["main"]) == ("beta-quotas", "stacks")
    for stack in ("dev", "prod"):
        config = yaml.safe_load((tmp_path / "quotas" / "stacks" / f"Pulumi.{stack}.yaml").read_text())["config"]
        assert config["apportion:environment"] == stack
    assert main(["init", str(tmp_path / "plain")]) == 0
    assert not (tmp_path / "plain" / "Pulumi.yaml").exists()
