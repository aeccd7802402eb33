"""The findings of a selected cluster; a fault of several clusters is reported once, but counts for each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run

_POLICY = """
from apportion_policy import *

TOP = Queue(id="org", owner="@o/x", guaranteed=Resources(gpu={top}))
TEAM = Queue(id="team", parent=TOP, owner="@o/a", namespaces=("a",), default=True, guaranteed=Resources(gpu={top}))
GPUS = NodePool(
    id="gpus", cpu=32, memory="128Gi", accelerator=Accelerator(model="a100", count=4), max_nodes=2,
    taints=(GPU_TAINT,),
)
MORE = ({override})
policy = Policy(
    organisation=Organisation(name="o", owner="@o/p"),
    queues=(TOP, TEAM),
    node_pools=(GPUS,),
    environments=(
        Environment(
            name="dev",
            clusters=(Cluster(name="one", engine=Engine.YUNIKORN, engine_version="1.8.0", pools=(GPUS,)),),
            overrides=MORE,
        ),
        Environment(
            name="prod",
            clusters=(
                Cluster(name="two", engine=Engine.KOORDINATOR, engine_version="1.8.0", pools=(GPUS,)),
                Cluster(name="three", engine=Engine.NATIVE, engine_version="1.34", pools=(GPUS,), share="1/2"),
            ),
            overrides=MORE,
        ),
    ),
)
"""
_SHORT = _POLICY.format(top=14, override="")
_OVERRIDDEN = _POLICY.format(top=2, override="QueueOverride(queue=TEAM, guaranteed=Resources(gpu=4)),")


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "scenario.yaml"
    file.write_text("workloads: [{name: j, kind: Job, namespace: a, duration: 1m}]\nnodes: [{pool: gpus}]\n")
    return file


@pytest.mark.parametrize(
    ("policy", "code", "in_third"),
    [(_SHORT, "AP601", 0), (_OVERRIDDEN, "AP201", 1)],
    ids=["merged", "in-the-first-cluster"],
)
def test_error_counts_for_each_cluster(
    run: Run, tmp_path: Path, scenario: Path, policy: str, code: str, in_third: int
) -> None:
    file = tmp_path / "policy.py"
    file.write_text(policy)
    whole = run("validate", file)
    assert (whole.code, whole.out.count(f"error[{code}]")) == (1, 1), whole.text
    for env in ("dev", "prod"):
        checked = run("validate", file, "--env", env)
        assert (checked.code, checked.out.count(f"error[{code}]")) == (1, 1), checked.text
        assert run("compile", file, "--env", env, "--out", tmp_path / env).code == 1
    for cluster, expected in (("one", 1), ("two", 1), ("three", in_third)):
        result = run("simulate", file, "--cluster", cluster, "--scenario", scenario)
        assert (result.code, result.err.count(f"error[{code}]")) == (expected, expected), result.text


def test_waived_shortage_is_waived_on_each_cluster(run: Run, tmp_path: Path, scenario: Path) -> None:
    waiver = (
        'waivers=(Waiver(code="AP601", address="cluster dev/one", reason="x", owner="@o/p", expires="2999-01-01"),),'
    )
    file = tmp_path / "policy.py"
    file.write_text(_SHORT.replace("    node_pools", f"    {waiver}\n    node_pools"))
    assert run("validate", file).code == 0, run("validate", file).text
    for cluster in ("one", "two"):
        result = run("simulate", file, "--cluster", cluster, "--scenario", scenario)
        assert result.code == 0, result.err


def test_simulation_prints_the_warnings_of_its_cluster(run: Run, tmp_path: Path, scenario: Path) -> None:
    file = tmp_path / "policy.py"
    file.write_text(_POLICY.format(top=2, override=""))
    chosen = ("simulate", file, "--scenario", scenario, "--cluster")
    result = run(*chosen, "three")
    assert result.code == 0
    assert "1 succeeded" in result.out
    assert "warning[AP506] plain Kubernetes does not support guaranteed" in result.err
    assert result.err == run("validate", file).out
    assert "AP506" in run(*chosen, "three", "-q").err
    assert run(*chosen, "one").err == ""


def test_simulation_fails_on_warnings_after_its_report(run: Run, tmp_path: Path, scenario: Path) -> None:
    file = tmp_path / "policy.py"
    file.write_text(_POLICY.format(top=2, override=""))
    chosen = ("simulate", file, "--scenario", scenario, "--fail-on", "warning", "--cluster")
    result = run(*chosen, "three")
    assert (result.code, "1 succeeded" in result.out) == (1, True), result.text
    assert run(*chosen, "one").code == 0
    for first, second in (("one", "three"), ("three", "one")):
        compared = run(*chosen, first, "--against", file, "--against-cluster", second)
        assert (compared.code, compared.err.count("AP506")) == (1, 2), compared.text
