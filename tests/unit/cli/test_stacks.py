"""`up` and `preview` without Pulumi: one sentence with the remedy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from apportion_cli.commands.preview import refuse_deletion_of_used
from apportion_cli.errors import PreconditionError
from apportion_cli.main import main
from apportion_cli.stack_report import plan_json, plan_markdown, plan_text
from apportion_cli.stacks import Plan
from apportion_compiler.emit.pulumi.update_plan import TargetPlan
from apportion_compiler.rollout.differences import differences


def _object(kind: str, name: str, queue: str | None = None, **more: Any) -> dict[str, Any]:
    labels = {"apportion.dev/queue-id": queue, "apportion.dev/top-queue": "research"} if queue else {}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1" if kind == "Queue" else "v1",
        "kind": kind,
        "metadata": {"name": name, "labels": labels},
        **more,
    }


FORMER = (
    _object("Queue", "vision", "vision", spec={"parent": "research", "weight": 1}),
    _object("Queue", "ads", "ads", spec={"parent": "research"}),
    _object("Namespace", "ads", "ads"),
)
WANTED = (
    _object("Queue", "vision", "vision", spec={"parent": "research", "weight": 2}),
    _object("Namespace", "shared"),
)
QUEUES = {"research": ("research",), "vision": ("research", "vision")}
CHANGING = TargetPlan("gpu-eu/volcano", differences(FORMER, WANTED), QUEUES)
PLAN = Plan(
    "prod",
    2,
    (CHANGING, TargetPlan("gpu-eu/native", (), {})),
    ("PriorityClass train goes from 1 to 2",),
    frozenset({"Namespace"}),
)


@pytest.fixture
def no_pulumi(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    (tmp_path / "Pulumi.yaml").write_text("name: x\nruntime: python\n")
    return tmp_path


@pytest.mark.parametrize("verb", ["up", "preview", "drift"])
def test_missing_pulumi_names_the_installation_page(
    verb: str, no_pulumi: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, "dev", "--dir", str(no_pulumi)]) == 3
    assert capsys.readouterr().err == (
        "apportion: error: this command requires `pulumi`, which is not on PATH\n"
        "  hint: install it: https://www.pulumi.com/docs/install/\n"
    )


def test_missing_project_names_the_init_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preview", "dev", "--dir", str(tmp_path)]) == 3
    said = capsys.readouterr().err
    assert "no Pulumi.yaml in" in said
    assert "apportion init --pulumi" in said


def test_plan_text_is_a_tree_of_changes() -> None:
    assert (
        plan_text(PLAN)
        == """\
prod/gpu-eu/volcano deletes: Queue ads
prod/gpu-eu/volcano leaves in the cluster, with all their contents: Namespace ads

prod/gpu-eu/volcano  1 to create, 1 to change, 2 to delete
├─ + Namespace shared
└─ research
   ├─ ads
   │  ├─ - Namespace ads
   │  └─ - Queue ads
   └─ vision
      └─ ~ Queue vision: spec.weight 1 → 2

2 updates in sequence, each valid: the engine would reject them as a single update

warning: PriorityClass train goes from 1 to 2
"""
    )
    assert plan_text(Plan("dev", 1, PLAN.targets[1:])) == "dev: nothing to do\n"


def test_plan_json_is_versioned() -> None:
    document = json.loads(plan_json(PLAN))
    assert (document["kind"], document["updates"], len(document["warnings"])) == ("StackPlan", 2, 1)
    target = document["targets"][0]
    assert [target[key] for key in ("target", "made", "changed", "deleted")] == ["gpu-eu/volcano", 1, 1, 2]
    assert target["changes"][0] == {
        "action": "change",
        "group": "scheduling.volcano.sh",
        "kind": "Queue",
        "name": "vision",
        "queue": ["research", "vision"],
        "fields": [{"path": "spec.weight", "before": 1, "after": 2}],
    }


def test_plan_markdown() -> None:
    assert plan_markdown(PLAN).startswith("### `prod`: 1 target changed\n\n```\nprod/gpu-eu/volcano")
    assert plan_markdown(Plan("dev", 1, ())) == "### `dev`: nothing to do\n"


def _pod(name: str, phase: str = "Running", **metadata: Any) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": name, "namespace": "elsewhere", **metadata}, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (_pod("one", namespace="ads"), "Namespace ads is in use by Pod ads/one"),
        (_pod("one", labels={"volcano.sh/queue-name": "ads"}), "Queue ads is in use by Pod elsewhere/one"),
        (
            {"kind": "PodGroup", "metadata": {"name": "g"}, "spec": {"queue": "ads"}},
            "Queue ads is in use by PodGroup g",
        ),
        (
            {"kind": "Queue", "metadata": {"name": "ads"}, "status": {"running": 2}},
            "Queue ads is in use: its status reports 2 workloads",
        ),
    ],
)
def test_deleting_a_queue_in_use_requires_a_flag(work: dict[str, Any], said: str, tmp_path: Path) -> None:
    export = tmp_path / "cluster.json"
    export.write_text(json.dumps({"kind": "List", "items": [work]}))
    with pytest.raises(PreconditionError, match=f"{said}; nothing was changed"):
        refuse_deletion_of_used(PLAN, (str(export),), delete_used=False)
    refuse_deletion_of_used(PLAN, (str(export),), delete_used=True)


def test_finished_and_other_work_does_not_block_deletion(tmp_path: Path) -> None:
    export = tmp_path / "cluster.json"
    over = _pod("done", "Succeeded", namespace="ads")
    other = _pod("other", labels={"volcano.sh/queue-name": "vision"})
    export.write_text(json.dumps({"kind": "List", "items": [over, other]}))
    refuse_deletion_of_used(PLAN, (str(export),), delete_used=False)


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


def test_missing_plugin_names_its_download() -> None:
    pytest.importorskip("pulumi", reason="the extra `pulumi` is not installed")
    from pulumi.automation import CommandResult
    from pulumi.automation.errors import CommandError

    from apportion_cli.stacks import _said

    said = (
        "error: Could not automatically download and install resource plugin 'pulumi-resource-kubernetes' at version "
        "v4.34.2, install the plugin using `pulumi plugin install resource kubernetes v4.34.2`: no route\n"
    )
    with (
        pytest.raises(PreconditionError, match="plugin `pulumi-resource-kubernetes` is not installed") as refused,
        _said(),
    ):
        raise CommandError(CommandResult(stdout="", stderr=said, code=255))
    assert refused.value.hint is not None
    assert refused.value.hint.startswith("install it: pulumi plugin install resource kubernetes v4.34.2 (https://")


def test_multi_line_pulumi_errors_are_joined() -> None:
    from apportion_cli.stacks import _reason

    said = 'Updating:\nerror: resource "a" cannot be deleted\nbecause it is protected.\n\nerror: update failed\nResources:\n'
    assert _reason(said) == (
        'Pulumi failed: error: resource "a" cannot be deleted because it is protected.; error: update failed'
    )
