"""`apportion advise`: goals, the changed quotas, the patch, and what is refused."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from apportion_cli import advise_runs
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


def test_search_ends_when_its_time_is_over(run: Run, files: Path) -> None:
    asked = ("advise", "policy.py", "--scenario", "load.yaml", "--goal", WAIT, "--jobs", "1", "--max-time", "0s", "-q")
    advice = run(*asked)
    assert advice.code == 1
    assert "stopped by the time limit of 0s (--max-time); a longer search" in " ".join(advice.out.split())
    assert _document(run(*asked, "--json").out)["stopped"] == "the time limit of 0s (--max-time)"


def test_interrupted_search_prints_what_it_found(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summaries = advise_runs.Simulations.summaries
    n_batches = 0

    def interrupted(*arguments: Any) -> Any:
        nonlocal n_batches
        n_batches += 1
        if n_batches == 3:
            monkeypatch.setattr(advise_runs, "_summary", _interrupt)
        return summaries(*arguments)

    monkeypatch.setattr(advise_runs.Simulations, "summaries", interrupted)
    advice = run("advise", "policy.py", "--scenario", "load.yaml", "--goal", WAIT, "--jobs", "1", "-q")
    assert advice.code == 130
    assert "stopped by an interrupt; a smaller change may exist" in " ".join(advice.out.split())
    assert "+++ b/policy.py" in advice.out


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_quotas_are_chosen_on_a_sample_and_confirmed(run: Run, files: Path) -> None:
    """Twice the nodes, jobs and quotas of the other tests, of which the sample has half."""
    text = POLICY.replace("gpu=1)", "gpu=2)").replace("gpu=7)", "gpu=14)").replace("_nodes=1", "_nodes=2")
    (files / "policy.py").write_text(text)
    load = SCENARIO.replace("count: 1", "count: 2").replace("count: 8", "count: 16").replace("count: 3", "count: 6")
    (files / "load.yaml").write_text(load)
    asked = ("advise", "policy.py", "--scenario", "load.yaml", "--goal", WAIT, "--sample", "2", "--jobs", "1", "-q")
    advice = run(*asked)
    assert advice.code == 10
    text = " ".join(advice.out.split())
    assert "used a sample with one of every 2 jobs and nodes; 2 simulations have the whole load" in text
    assert "2 (sample)" in text
    document = _document(run(*asked, "--json").out)
    assert (document["sample"], document["runs"][0]["sample"]) == (2, False)
    whole = [each for each in document["runs"] if not each["sample"]]
    assert any(each["quotas"] == [10, 6] and each["values"][0] <= 300 for each in whole)


def test_unknown_queue_is_refused_before_the_simulation(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advise_runs.Simulations, "baseline", _interrupt)
    refused = run("advise", "policy.py", "--scenario", "load.yaml", "--goal", "p90 wait of vision <= 5m")
    assert (refused.code, "no queue vision; it has batch, serving" in refused.err) == (3, True)


def test_report_lists_the_simulations(run: Run, files: Path) -> None:
    advice = run("advise", "policy.py", "--scenario", "load.yaml", "--goal", WAIT, "--jobs", "1", "-q")
    lines = advice.out.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("simulation"))
    assert lines[begin].split() == ["simulation", "batch", "serving", "p90", "wait", "of", "serving"]
    assert lines[begin + 1].split()[:3] == ["1", "7", "1"]


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


BATCH = "p90 wait of batch <= 5m"
OF_POOL = SCENARIO.replace(
    "pool: gpu, count: 1, gpus: 8, gpu_memory: 81920, cpu: 96, memory: 384Gi", "policy_pool: gpu"
)
ELASTIC = OF_POOL.replace("policy_pool: gpu", "policy_pool: gpu, count: 1, min: 0")
ON_REQUEST = OF_POOL.replace("policy_pool: gpu", "policy_pool: gpu, count: 0, queued: {}")
MORE = "count: 8, duration", "count: 20, duration"


def _enlarge(run: Run, goal: str, *more: str) -> tuple[int, dict[str, Any]]:
    asked = ("advise", "policy.py", "--scenario", "load.yaml", "--goal", goal, "--pool", "gpu", "--jobs", "1", "-q")
    advice = run(*asked, *more, "-o", "json")
    return advice.code, _document(advice.out)


def test_pool_grows_if_no_quotas_meet_the_goals(run: Run, files: Path) -> None:
    (files / "load.yaml").write_text(OF_POOL.replace(*MORE))
    code, document = _enlarge(run, BATCH)
    assert (code, document["quotas"][-1]) == (10, "gpu max_nodes")
    (change,) = document["poolChanges"]
    # Twenty pods with a GPU each need three nodes.
    assert (change["before"], change["after"], change["place"]) == (1, 3, "policy.py:3")
    subprocess.run(["git", "apply"], input=document["patch"], text=True, check=True, cwd=files)
    assert "min_nodes=3,\n    max_nodes=3," in (files / "policy.py").read_text()


def test_pool_keeps_its_size_if_quotas_meet_the_goals(run: Run, files: Path) -> None:
    (files / "load.yaml").write_text(OF_POOL)
    code, document = _enlarge(run, WAIT)
    assert (code, document["poolChanges"], len(document["changes"])) == (10, [], 2)


def test_pool_that_scales_gets_a_higher_maximum(run: Run, files: Path) -> None:
    (files / "policy.py").write_text(POLICY.replace("min_nodes=1", "min_nodes=0"))
    (files / "load.yaml").write_text(ELASTIC.replace(*MORE))
    code, document = _enlarge(run, BATCH)
    assert (code, document["poolChanges"][0]["after"]) == (10, 3)
    assert "min_nodes" not in "".join(line for line in document["patch"].splitlines() if line[0] in "+-")


def test_computed_pool_size_is_not_patched(run: Run, files: Path) -> None:
    text = POLICY.replace("min_nodes=1,\n    max_nodes=1", "min_nodes=N,\n    max_nodes=N")
    (files / "policy.py").write_text(text.replace("POOL = ", "N = 1\nPOOL = "))
    (files / "load.yaml").write_text(OF_POOL.replace(*MORE))
    advice = run(
        "advise", "policy.py", "--scenario", "load.yaml", "--goal", BATCH, "--pool", "gpu", "--jobs", "1", "-q"
    )
    assert advice.code == 10
    assert "policy.py:4: set `max_nodes` of node pool `gpu` to 3" in " ".join(advice.out.split())


def test_goal_that_no_pool_size_meets_requires_less_load(run: Run, files: Path) -> None:
    work = "  - {name: h, kind: Job, namespace: batch, queue: batch, priority: train, gpus: 9, count: 1, duration: 4h}"
    (files / "load.yaml").write_text(f"{OF_POOL}{work}\nuntil: 12h\n")
    goal = ("--goal", "p99 wait of batch <= 1h", "--pool", "gpu", "--jobs", "1", "-q")
    advice = run("advise", "policy.py", "--scenario", "load.yaml", *goal)
    assert advice.code == 1
    assert "and the largest node pools that were tried" in " ".join(advice.out.split())
    assert "the goal requires less load" in " ".join(advice.out.split())


@pytest.mark.parametrize(
    ("scenario", "told"),
    [
        (SCENARIO, "no entry uses node pool gpu"),
        (ON_REQUEST, "gets its nodes from provisioning requests"),
    ],
    ids=["other pool", "queued"],
)
def test_pool_without_nodes_in_the_load_is_refused(run: Run, files: Path, scenario: str, told: str) -> None:
    (files / "load.yaml").write_text(scenario)
    refused = run("advise", "policy.py", "--scenario", "load.yaml", "--goal", WAIT, "--pool", "gpu")
    assert (refused.code, told in " ".join(refused.err.split())) == (3, True)


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
        (("--scenario", "load.yaml", "--goal", WAIT, "--pool", "l4"), 2, "has no node pool l4; it has gpu"),
        (("--scenario", "none.yaml", "--goal", WAIT), 3, "none.yaml cannot be read"),
    ],
)
def test_unusable_input_is_refused(run: Run, files: Path, arguments: tuple[str, ...], code: int, told: str) -> None:
    refused = run("advise", "policy.py", *arguments)
    assert (refused.code, told in refused.text) == (code, True)
