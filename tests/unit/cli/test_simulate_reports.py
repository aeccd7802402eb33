"""`apportion simulate --scenario`: formats, two policies under one load, and results of an interrupted run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from apportion_runtime.sim.cluster import Cluster

from .conftest import Run

SCENARIO = """\
name: two jobs
nodes: [{pool: gpu, count: 1, gpus: 2, cpu: 16, memory: 64Gi}]
workloads:
  - {name: first, kind: Job, namespace: x, queue: a, gpus: 2, duration: 1h}
  - {name: second, kind: Job, namespace: x, queue: a, gpus: 1, duration: 1h, at: 10m}
"""
QUEUE = """\
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {{name: {name}}}
spec:
  {parent}resources:
    cpu: {{quota: -1, limit: -1, overQuotaWeight: 1}}
    memory: {{quota: -1, limit: -1, overQuotaWeight: 1}}
    gpu: {{quota: {quota}, limit: {limit}, overQuotaWeight: 1}}
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two rendered trees, the second of which lends team a no more than one GPU, and a scenario."""
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    for name, limit in (("wide", -1), ("narrow", 1)):
        queues = [QUEUE.format(name="top", parent="", quota=-1, limit=-1)]
        queues.append(QUEUE.format(name="a", parent="parentQueue: top\n  ", quota=1, limit=limit))
        (tmp_path / f"{name}.yaml").write_text("---\n".join(queues))
    return tmp_path


def test_every_format_has_the_same_numbers(run: Run, files: Path) -> None:
    result = run(
        "simulate", "wide.yaml", "--scenario", "scenario.yaml", "-o", "json=r.json", "-o", "html=r.html", "-o", "text"
    )
    assert result.code == 0
    report = json.loads((files / "r.json").read_text())
    assert (report["apiVersion"], report["kind"], report["name"]) == (
        "apportion.dev/v1",
        "SimulationReport",
        "two jobs",
    )
    assert result.out.splitlines()[0] == "two jobs: 2h, 2 workloads (2 succeeded)"
    assert "GPU-hours 3.0 of 4.0 (75%), fragmentation 50%" in result.out, (
        "one is free, and one of two jobs asks for two"
    )
    assert report["gpu_hours"] == pytest.approx(3.0, abs=0.01)
    page = (files / "r.html").read_text()
    assert f'data-tile="gpu_hours" data-value="{report["gpu_hours"]}"' in page
    assert "http" not in page.replace("http-equiv", "")


def test_story_is_chronological(run: Run, files: Path) -> None:
    lines = run("simulate", "wide.yaml", "--scenario", "scenario.yaml", "-o", "story").out.splitlines()
    assert lines[0] == "00:00:00  gpu-0000 joins"
    assert lines[1:3] == ["00:00:00  first (a) arrives", "00:00:00  first (a) starts: 1 pod placed"]
    assert lines[-1] == "02:00:04  second (a) finished: succeeded"


def test_story_explains_forbidden_reclaim(run: Run, files: Path) -> None:
    other = QUEUE.format(name="b", parent="parentQueue: top\n  ", quota=1, limit=-1)
    (files / "both.yaml").write_text((files / "wide.yaml").read_text() + "---\n" + other)
    jobs = [
        f"  - {{name: {name}, kind: Job, namespace: x, queue: {name[0]}, gpus: 1, duration: 1h}}"
        for name in ("a1", "b1")
    ]
    late = "  - {name: a2, kind: Job, namespace: x, queue: a, gpus: 1, duration: 1h, at: 10m}"
    (files / "both-load.yaml").write_text("\n".join([*SCENARIO.splitlines()[:3], *jobs, late]))
    lines = run("simulate", "both.yaml", "--scenario", "both-load.yaml", "-o", "story").out.splitlines()
    (waits,) = (line for line in lines if " waits: " in line)
    assert waits.startswith("00:10:00  a2 (a) waits: ")
    assert waits.endswith(
        "; cannot reclaim from other queues: a uses 1 GPU and requests 1 more GPU; its fair share is 1 GPU"
    )


def test_comparison_of_two_policies(run: Run, files: Path) -> None:
    arguments = ("simulate", "narrow.yaml", "--against", "wide.yaml", "--scenario", "scenario.yaml")
    result = run(*arguments, "-o", "text", "-o", "json=c.json", "-o", "html=c.html")
    assert result.code == 0
    comparison = json.loads((files / "c.json").read_text())
    assert comparison["kind"] == "SimulationComparison"
    changed = {
        made["name"]: {c["field"]: (c["before"], c["after"]) for c in made["changes"]}
        for made in comparison["workloads"]
    }
    assert changed["x/first"]["outcome"] == ("succeeded", "unfinished"), "it asks for more than the limit"
    assert changed["x/second"]["started_s"][1] == 600.0
    assert "x/first: started 00:00:00 → –, ended 01:00:02 → –, outcome succeeded → unfinished" in result.out
    assert 'data-before="succeeded" data-after="unfinished"' in (files / "c.html").read_text()
    same = run("simulate", "wide.yaml", "--against", "wide.yaml", "--scenario", "scenario.yaml")
    assert same.out == "two jobs: no differences\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--scenario", "s", "--against", "b", "-o", "story"),
            "--against supports only the output formats text, json and html",
        ),
        (("--scenario", "s", "--against-env", "prod"), "require --against POLICY"),
        (("--scenario", "s", "-o", "yaml"), "--scenario and --trace cannot be combined with --cycle or -o yaml"),
        (("-o", "html"), "pass --scenario FILE"),
        (("--scenario", "s", "--actions", "foo"), "--actions requires --cycle SNAPSHOT"),
        (("--scenario", "s", "--record", "3"), "--record requires --cycle SNAPSHOT"),
        (("--trace", "sacct:x", "--now", "2026-11-21T08:00:00Z"), "--now requires --cycle SNAPSHOT"),
    ],
)
def test_conflicting_options_are_refused(run: Run, arguments: tuple[str, ...], said: str) -> None:
    result = run("simulate", "wide.yaml", *arguments)
    assert result.code == 2
    assert said in " ".join(result.err.split())


def test_interrupted_simulation_is_reported(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = Cluster.step

    def interrupted(cluster: Cluster) -> bool:
        if cluster.cluster_state.elapsed_s > 3600:
            raise KeyboardInterrupt
        return step(cluster)

    monkeypatch.setattr(Cluster, "step", interrupted)
    result = run("simulate", "wide.yaml", "--scenario", "scenario.yaml", "-o", "json=r.json", "-o", "html=r.html")
    assert result.code == 130
    assert "interrupted at simulated time 2026-01-05T01:00:02Z; the results are partial" in result.err
    report = json.loads((files / "r.json").read_text())
    assert report["outcomes"] == {"succeeded": 1, "unfinished": 1}
    assert report["gpu_hours"] == pytest.approx(2 * 3602 / 3600, abs=1e-3)
    assert "</html>" in (files / "r.html").read_text()


def test_progress_bar_requires_a_terminal(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = run("simulate", "wide.yaml", "--scenario", "scenario.yaml")
    assert "simulating" not in quiet.err
    monkeypatch.setattr("apportion_cli.console.Console.shows_progress", lambda console: True)
    monkeypatch.setattr("apportion_cli.simulation_progress._PATIENCE_S", 0.0)
    monkeypatch.setattr("apportion_cli.simulation_progress._PERIOD_S", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = run("simulate", "wide.yaml", "--scenario", "scenario.yaml")
    assert shown.out == quiet.out
    assert "simulating" in shown.err
    assert "2 of 2 workloads" in shown.err


def test_report_explains_waits_and_names_its_inputs(run: Run, files: Path) -> None:
    arguments = ("simulate", "wide.yaml", "--scenario", "scenario.yaml", "-o", "html=r.html", "-o", "json=r.json")
    assert run(*arguments).code == 0
    report = json.loads((files / "r.json").read_text())
    second = next(found for found in report["workloads"] if found["name"] == "second")
    assert (second["outcome"], second["why_waiting"]) == ("succeeded", "")
    assert "the pool has 1 nodes" in second["why_waited"] or "GPU" in second["why_waited"]
    page = (files / "r.html").read_text()
    assert second["why_waited"].split(".")[0] in page
    inputs = report["inputs"]
    assert (inputs["policy"], inputs["scenario"], inputs["engine"]) == ("wide.yaml", "scenario.yaml", "kai")
    assert f"<code>{inputs['digest'][:12]}</code>" in page
    assert run("simulate", "narrow.yaml", *arguments[2:]).code == 0
    assert json.loads((files / "r.json").read_text())["inputs"]["digest"] != inputs["digest"]


POLICY = """\
organisation: {name: acme, owner: "@acme/platform"}
queues: [{id: a, namespaces: [x], owner: "@acme/a", guaranteed: {gpu: 1}, limit: {gpu: 16}}]
node_pools:
  - {id: h100, accelerator: {model: h100, count: 2}, max_nodes: 2, cpu: 16, memory: 64Gi}
  - {id: l4, accelerator: {model: l4, count: 1}, max_nodes: 2, cpu: 16, memory: 64Gi, labels: {zone: b}}
environments: [{name: prod, clusters: [{name: c, engine: kai, engine_version: "0.17.0", pools: [h100, l4]}]}]
"""


def test_scenario_uses_node_pools_of_the_policy(run: Run, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    scenario = SCENARIO.replace(
        "{pool: gpu, count: 1, gpus: 2, cpu: 16, memory: 64Gi}", "{policy_pool: h100}, {policy_pool: l4, count: 2}"
    )
    (tmp_path / "scenario.yaml").write_text(scenario)
    found = run("simulate", "policy.yaml", "--scenario", "scenario.yaml", "-o", "json=r.json", "-o", "text")
    assert found.code == 0, found.err
    report = json.loads((tmp_path / "r.json").read_text())
    assert [(m["model"], m["capacity_gpu_hours"] > 0) for m in report["models"]] == [("h100", True), ("l4", True)]
    assert "by GPU model: h100" in found.out
    assert report["inputs"]["environment"] == "prod"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "policy.yaml",
            "scenario.yaml:2: nodes[0].policy_pool: the cluster has no node pool l40; its node pools are h100, l4",
        ),
        ("wide.yaml", "a rendered tree has no node pools: define the nodes in the scenario"),
    ],
)
def test_unknown_node_pool_is_refused(run: Run, files: Path, source: str, said: str) -> None:
    (files / "policy.yaml").write_text(POLICY)
    (files / "scenario.yaml").write_text(SCENARIO.replace("{pool: gpu,", "{policy_pool: l40,"))
    found = run("simulate", source, "--scenario", "scenario.yaml")
    assert found.code == 3
    assert said in found.err


def test_json_lists_devices_of_each_pod(run: Run, files: Path) -> None:
    (files / "scenario.yaml").write_text(
        "nodes: [{pool: gpu, count: 1, gpus: 2, cpu: 16, memory: 64Gi}]\n"
        "workloads:\n"
        "  - {name: half, kind: Pod, count: 2, namespace: x, queue: a, gpus: 0.5, duration: 1h}\n"
        "  - {name: inner, kind: Pod, namespace: x, queue: top, gpus: 1, duration: 1h}\n"
    )
    assert run("simulate", "wide.yaml", "--scenario", "scenario.yaml", "-o", "json=r.json", "-o", "jsonl=e").code == 0
    report = json.loads((files / "r.json").read_text())
    groups = {(p["workload"], p["node"], p["gpus"], *p["gpu_groups"]) for p in report["placements"]}
    ((_, _, _, shared), _) = sorted(groups)
    assert groups == {(name, "gpu-0000", 0.5, shared) for name in ("half-0", "half-1")}
    bound = [fact for fact in map(json.loads, (files / "e").read_text().splitlines()) if fact["what"] == "bound"]
    assert [(fact["gpus"], fact["gpu_groups"]) for fact in bound] == [(0.5, [shared])] * 2
    inner = next(found for found in report["workloads"] if found["name"] == "inner")
    assert inner["why_waiting"] == "queue top has child queues; only leaf queues run jobs"


def test_shards_are_simulated_separately(run: Run, files: Path) -> None:
    shard = "---\n{{apiVersion: kai.scheduler/v1, kind: SchedulingShard, metadata: {{name: {0}}}, spec: {{partitionLabelValue: {0}}}}}\n"
    tree = (files / "wide.yaml").read_text() + shard.format("h100") + shard.format("l4")
    (files / "wide.yaml").write_text(tree)
    unnamed = run("simulate", "wide.yaml", "--scenario", "scenario.yaml")
    assert unnamed.code == 3
    assert "the cluster has more than one shard (h100, l4); a simulation covers only one" in unnamed.err
    assert (
        "shard b300 does not exist"
        in run("simulate", "wide.yaml", "--scenario", "scenario.yaml", "--shard", "b300").err
    )
    assert run("simulate", "wide.yaml", "--scenario", "scenario.yaml", "--shard", "l4").code == 0


def test_event_on_a_missing_object_is_warned_about(run: Run, files: Path) -> None:
    events = "events: [{at: 1m, node: nope, what: fails}, {at: 2m, deleted: {kind: Pod, namespace: x, name: y}}]\n"
    (files / "scenario.yaml").write_text(SCENARIO + events)
    found = run("simulate", "wide.yaml", "--scenario", "scenario.yaml")
    assert "apportion: warning: event at 60 s: node nope fails, but it does not exist at that time\n" in found.err
    assert "apportion: warning: event at 120 s: Pod x/y is deleted, but it does not exist at that time\n" in found.err
