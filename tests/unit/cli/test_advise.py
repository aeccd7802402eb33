"""`apportion advise`: goals, the changed quotas, the patch, and what is refused."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from apportion_review.schemas import schema_text

from .conftest import Run

POLICY = """\
from apportion_policy import Accelerator, Cluster, Engine, Environment, Fixed, NodePool, Organisation, Policy, Queue, Resources

POOL = NodePool(
    id="gpu",
    provider=Fixed(),
    cpu=96,
    memory="384Gi",
    accelerator=Accelerator(model="h100", count=8, memory="80Gi"),
    min_nodes=1,
    max_nodes=1,
)
MAIN = Cluster(name="main", engine=Engine.KAI, engine_version="0.17.0", pools=(POOL,))
policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="serving", namespaces=("serving",), guaranteed=Resources(gpu=1)),
        Queue(id="batch", namespaces=("batch",), guaranteed=Resources(gpu=7)),
    ),
    node_pools=(POOL,),
    environments=(Environment(name="prod", clusters=(MAIN,)),),
)
"""
SCENARIO = """\
name: load
nodes: [{pool: gpu, count: 1, gpus: 8, gpu_memory: 81920, cpu: 96, memory: 384Gi}]
workloads:
  - {name: b, kind: Job, namespace: batch, queue: batch, priority: train, gpus: 1, count: 8, duration: 4h}
  - {name: s, kind: Job, namespace: serving, queue: serving, priority: train, gpus: 1, count: 3, at: 10m, duration: 1h}
"""
WAIT = "p90 wait of serving <= 5m"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A policy that guarantees serving one GPU, and a load of which serving needs three."""
    (tmp_path / "policy.py").write_text(POLICY)
    (tmp_path / "load.yaml").write_text(SCENARIO)
    return tmp_path


def _document(text: str) -> dict[str, Any]:
    """Return advice in JSON, which satisfies its schema."""
    document: dict[str, Any] = json.loads(text)
    jsonschema.validate(document, json.loads(schema_text("advise")))
    return document


def test_patch_meets_the_goal_with_the_smallest_change(run: Run, files: Path) -> None:
    advice = run("advise", "policy.py", "--scenario", "load.yaml", "--goal", WAIT, "--jobs", "1", "-o", "patch")
    assert advice.code == 10
    subprocess.run(["git", "apply"], input=advice.out, text=True, check=True, cwd=files)
    changed = [line for line in (files / "policy.py").read_text().splitlines() if "Resources(gpu=" in line]
    assert [line.partition("gpu=")[2][0] for line in changed] == ["3", "5"]
    again = run("advise", "policy.py", "--scenario", "load.yaml", "--goal", WAIT, "--jobs", "1")
    assert (again.code, again.out.splitlines()[0]) == (0, "prod/main: the policy meets the goal.")


def test_report_names_goals_and_lines(run: Run, files: Path) -> None:
    advice = run("advise", "policy.py", "--scenario", "load.yaml", "--goal", WAIT, "--jobs", "1", "-q")
    lines = advice.out.splitlines()
    assert lines[0].startswith("prod/main: 2 changed quotas meet the goal (")
    assert lines[2].split() == ["goal", "at", "most", "now", "then"]
    assert lines[3].startswith("p90 wait of serving  5m       2h")
    assert "serving  guaranteed gpu  1    3     policy.py:16" in lines
    assert advice.err == ""


def test_goals_that_exclude_each_other_are_reported(run: Run, files: Path) -> None:
    goals = ("--goal", WAIT, "--goal", "evictions <= 0")
    advice = run("advise", "policy.py", "--scenario", "load.yaml", *goals, "--jobs", "1", "--max-runs", "12")
    assert advice.code == 1
    assert "no quotas were found that meet the 2 goals" in " ".join(advice.out.split())
    assert "+++" not in advice.out


def test_goal_beyond_the_capacity_is_reported_with_the_best_value(run: Run, files: Path) -> None:
    asked = ("advise", "policy.py", "--scenario", "load.yaml", "--goal", "p90 wait of batch <= 1s", "--jobs", "1")
    advice = run(*asked)
    assert (advice.code, "Even with the largest possible guarantee" in advice.out) == (1, True)
    goal = _document(run(*asked, "--json").out)["goals"][0]
    assert goal["atBest"] > 1


def test_queue_is_named_by_its_id_where_the_engine_uses_another_name(run: Run, files: Path) -> None:
    text = POLICY.replace('Engine.KAI, engine_version="0.17.0"', 'Engine.YUNIKORN, engine_version="1.8.0"')
    (files / "policy.py").write_text(text)
    advice = run("advise", "policy.py", "--scenario", "load.yaml", "--goal", WAIT, "--jobs", "1", "--json", "-q")
    document = _document(advice.out)
    assert (advice.code, document["goals"][0]["queue"]) == (10, "root.serving")
    assert document["quotas"] == ["batch guaranteed gpu", "serving guaranteed gpu"]


def test_nothing_to_search_is_refused(run: Run, files: Path) -> None:
    kept = ("--keep", "batch", "--keep", "serving")
    refused = run("advise", "policy.py", "--scenario", "load.yaml", "--goal", WAIT, *kept, "--jobs", "1")
    assert (refused.code, refused.out) == (3, "")
    assert "no simulated queue has a GPU quota that can be changed" in refused.err


@pytest.mark.slow
def test_parallel_simulations_give_the_same_advice(run_process: Run, files: Path) -> None:
    asked = ("advise", "policy.py", "--scenario", "load.yaml", "--goal", WAIT, "--json", "-q")
    alone, together = run_process(*asked, "--jobs", "1"), run_process(*asked, "--jobs", "3")
    assert (together.code, together.out) == (alone.code, alone.out)
    assert (alone.code, alone.err) == (10, "")


def test_kept_queue_is_not_changed(run: Run, files: Path) -> None:
    asked = ("advise", "policy.py", "--scenario", "load.yaml", "--goal", WAIT, "--keep", "batch", "--jobs", "1")
    advice = run(*asked, "-o", "json")
    document = _document(advice.out)
    assert (advice.code, document["quotas"], document["changes"]) == (1, ["serving guaranteed gpu"], [])


def test_json_has_every_simulation(run: Run, files: Path) -> None:
    advice = run("advise", "policy.py", "--scenario", "load.yaml", "--goal", WAIT, "--jobs", "1", "--json")
    document = _document(advice.out)
    assert document["quotas"] == ["batch guaranteed gpu", "serving guaranteed gpu"]
    assert document["runs"][0]["quotas"] == [7, 1]
    assert any(run["quotas"] == [5, 3] and run["values"][0] <= 300 for run in document["runs"])


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("--goal", WAIT), 2, "pass --scenario FILE or --trace FORMAT:FILE"),
        (("--scenario", "load.yaml", "--goal", "soon"), 2, "`soon` is not a goal such as"),
        (
            ("--scenario", "load.yaml", "--goal", "p90 wait of vision <= 5m"),
            3,
            "no queue vision; it has batch, serving",
        ),
        (("--scenario", "load.yaml", "--goal", WAIT, "--keep", "vision"), 2, "queue vision does not exist"),
        (("--scenario", "none.yaml", "--goal", WAIT), 3, "none.yaml cannot be read"),
    ],
)
def test_unusable_input_is_refused(run: Run, files: Path, arguments: tuple[str, ...], code: int, told: str) -> None:
    refused = run("advise", "policy.py", *arguments)
    assert (refused.code, told in refused.text) == (code, True)
