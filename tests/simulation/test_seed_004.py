"""Seed 004 on the simulated cluster: plain Kubernetes, and Volcano, each under its own rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apportion_cli.main import main

_EXAMPLES = Path(__file__).parents[2] / "examples"
Facts = list[dict[str, Any]]


def _of(facts: Facts, workload: str, what: str) -> Facts:
    return [fact for fact in facts if fact["what"] == what and fact.get("workload") == workload]


def _simulate_004(engine: str, scenario: str, folder: Path) -> Facts:
    example = _EXAMPLES / "seed-004-ai-scheduling"
    events = folder / "events.jsonl"
    arguments = ["simulate", str(example), "--engine", engine, "--scenario", str(example / scenario)]
    assert main([*arguments, "-o", f"jsonl={events}"]) == 0
    return [json.loads(line) for line in events.read_text().splitlines()]


@pytest.fixture(scope="module")
def seed_004(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    return _simulate_004("native", "scenario.yaml", tmp_path_factory.mktemp("seed-004"))


@pytest.fixture(scope="module")
def seed_004_volcano(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    return _simulate_004("volcano", "scenario-volcano.yaml", tmp_path_factory.mktemp("seed-004-volcano"))


def test_quota_refuses_the_ninth_gpu(seed_004: Facts) -> None:
    assert _of(seed_004, "sweep", "denied")[0]["why"] == (
        'pods "sweep-6" is forbidden: exceeded quota: apportion, requested: requests.nvidia.com/gpu=1, '
        "used: requests.nvidia.com/gpu=8, limited: requests.nvidia.com/gpu=8"
    )
    bound = [fact["at_s"] for fact in _of(seed_004, "sweep", "bound")]
    assert bound[:6] == [600.0] * 6
    assert len(bound) == 10
    assert bound[6] > 3000.0, "when the first six are done"
    assert _of(seed_004, "sweep", "finished")[0]["why"] == "succeeded"


def test_pods_are_spread_over_zones(seed_004: Facts) -> None:
    zones = [fact["node"].split("-")[1] for fact in _of(seed_004, "ai-workload", "bound")]
    assert sorted(zones) == ["a", "a", "b", "b", "c", "c"]
    frontend = _of(seed_004, "ai-frontend", "bound")
    assert [fact["node"] for fact in frontend] == ["ordinary-a-0000", "ordinary-b-0000"]
    why = _of(seed_004, "ai-frontend", "waiting")[0]["why"]
    assert "2 node(s) didn't match pod topology spread constraints, 3 node(s) had untolerated taint(s)" in why


def test_priority_class_preempts(seed_004: Facts) -> None:
    evicted = [fact for fact in seed_004 if fact["what"] == "evicted"]
    assert {(fact["at_s"], fact["by"], fact["queue"]) for fact in evicted} == {(12_600.0, "training", "lab")}
    assert len(evicted) == 4
    assert {fact["at_s"] for fact in _of(seed_004, "training", "bound")} == {12_630.0}


def test_cron_job_runs_every_night(seed_004: Facts) -> None:
    made = [fact["at_s"] for fact in seed_004 if fact["what"] == "arrived" and "daily-training-" in fact["workload"]]
    assert made == [2 * 3600.0, 26 * 3600.0]


def test_replicas_follow_the_load(seed_004: Facts) -> None:
    sizes = [(fact["at_s"], fact["why"].split(";")[0]) for fact in _of(seed_004, "serving", "autoscaled")]
    assert [size for _, size in sizes] == [f"New size: {count}" for count in (2, 3, 4, 5, 2)]
    assert sizes[0][0] == 9 * 3600.0
    assert 12 * 3600.0 + 270.0 <= sizes[-1][0] <= 12 * 3600.0 + 315.0, "five minutes after the load fell"
    assert _of(seed_004, "ai-workload", "autoscaler-blind")[0]["why"] == (
        "unable to get metrics for resource nvidia.com/gpu: no metrics returned from resource metrics API"
    )


def test_volcano_gang_starts_as_a_whole(seed_004_volcano: Facts) -> None:
    facts = seed_004_volcano
    bound = [(fact["workload"], fact["at_s"]) for fact in facts if fact["what"] == "bound"]
    assert {at for name, at in bound if name.startswith("gang-")} == {3602.0}
    assert sum(name.startswith("gang-") for name, _ in bound) == 4
    waited = [fact["why"] for fact in facts if fact["what"] == "waiting" and fact["workload"].startswith("gang-")]
    assert waited[0].startswith("4/4 tasks in gang unschedulable: pod group is not ready")


def test_volcano_queue_does_not_enqueue_above_its_capability(seed_004_volcano: Facts) -> None:
    why = _of(seed_004_volcano, "too-large", "waiting")[0]["why"]
    assert why == "queue resource quota insufficient: insufficient nvidia.com/gpu"
    assert _of(seed_004_volcano, "too-large", "bound") == []


def test_priority_preempts_within_a_volcano_queue(seed_004_volcano: Facts) -> None:
    evicted = [fact for fact in seed_004_volcano if fact["what"] == "evicted"]
    assert [(fact["workload"], fact["by"]) for fact in evicted] == [("sweep", "urgent")] * 4
    assert {fact["at_s"] for fact in _of(seed_004_volcano, "urgent", "bound")} == {12_630.0}
