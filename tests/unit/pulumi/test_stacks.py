"""The stacks of this repository, and rendering without an engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("pulumi", reason="the extra `pulumi` is not installed")

from apportion_cli.main import main
from apportion_compiler.emit.pulumi.settings import StackSettings, read_settings
from apportion_compiler.emit.pulumi.stack_targets import read_policy

from .stack_runs import DAY, policy_in, run_stack

pytestmark = pytest.mark.pulumi
ROOT = Path(__file__).parents[3]
STACKS = ("dev", "staging", "prod")


class _File:
    """The configuration of a stack as Pulumi hands it over: structures as JSON text."""

    def __init__(self, stack: str) -> None:
        self.config = yaml.safe_load((ROOT / "stacks" / f"Pulumi.{stack}.yaml").read_text())["config"]

    def get(self, key: str) -> str | None:
        value = self.config.get(f"apportion:{key}")
        return value if value is None or isinstance(value, str) else json.dumps(value)

    def get_object(self, key: str) -> Any:
        return self.config.get(f"apportion:{key}")


def settings(stack: str) -> StackSettings:
    return read_settings(_File(stack), stack)


def test_project_runs_the_program() -> None:
    project = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())
    assert (ROOT / project["main"] / "__main__.py").is_file()
    assert {f"Pulumi.{stack}.yaml" for stack in STACKS} == {p.name for p in (ROOT / "stacks").glob("Pulumi.*.yaml")}
    assert project["stackConfigDir"] == "stacks"


@pytest.mark.parametrize("stack", STACKS)
def test_stack_has_access_to_every_cluster(stack: str) -> None:
    found = settings(stack)
    (environment,) = (e for e in read_policy(str(ROOT / found.policy)).environments if e.name == found.environment)
    assert environment.name == stack
    assert set(found.clusters) == {cluster.name for cluster in environment.clusters}
    assert all(access.context for access in found.clusters.values())


def test_only_production_protects_guarantees() -> None:
    assert [settings(stack).protect for stack in STACKS] == ["none", "none", "guaranteed"]


def test_only_production_enforces_the_policy_pack() -> None:
    assert [settings(stack).enforcement for stack in STACKS] == ["advisory", "advisory", "mandatory"]
    assert [settings(stack).guard for stack in STACKS] == [False, False, True]
    assert (ROOT / "stacks" / "policy-pack" / "PulumiPolicy.yaml").is_file()


def test_node_pools_are_opt_in() -> None:
    assert [settings(stack).node_pools for stack in STACKS] == [{}, {}, {}]


@pytest.mark.parametrize("engine", ["kueue", "volcano", "native"])
def test_rendering_equals_compile(tmp_path: Path, engine: str) -> None:
    policy_in(tmp_path)
    run_stack(tmp_path, {"environment": f"on-{engine}", "mode": "render", "out": "from-stack"})
    compiled = tmp_path / "compiled"
    code = main(
        ["compile", "-e", f"on-{engine}", "--as-of", DAY.isoformat(), "--out", str(compiled), str(tmp_path / "policy")]
    )
    assert code == 0
    assert _files(tmp_path / "from-stack") == _files(compiled)
    assert _files(compiled)


def _files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
