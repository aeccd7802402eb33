"""The seeds' walk-throughs on the embedded cluster: what their authors say that one should see."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apportion_cli.main import main

_EXAMPLES = Path(__file__).parents[2] / "examples"
Facts = list[dict[str, Any]]


def _simulate(seed: str, folder: Path) -> tuple[Facts, dict[str, Any]]:
    example = _EXAMPLES / seed
    events, summary = folder / "events.jsonl", folder / "summary.json"
    arguments = ["simulate", str(example), "--scenario", str(example / "scenario.yaml")]
    assert main([*arguments, "-o", f"jsonl={events}", "-o", f"json={summary}"]) == 0
    return [json.loads(line) for line in events.read_text().splitlines()], json.loads(summary.read_text())


def _of(facts: Facts, workload: str, what: str) -> Facts:
    return [fact for fact in facts if fact["what"] == what and fact.get("workload") == workload]


@pytest.fixture(scope="module")
def seed_000(tmp_path_factory: pytest.TempPathFactory) -> tuple[Facts, dict[str, Any]]:
    return _simulate("seed-000-kai-ray", tmp_path_factory.mktemp("seed-000"))


@pytest.fixture(scope="module")
def seed_001(tmp_path_factory: pytest.TempPathFactory) -> tuple[Facts, dict[str, Any]]:
    return _simulate("seed-001-kai-vllm", tmp_path_factory.mktemp("seed-001"))


def test_the_gang_of_half_gpus_starts_with_all_five_pods(seed_000: tuple[Facts, dict[str, Any]]) -> None:
    facts, _ = seed_000
    first = [fact for fact in _of(facts, "raycluster-half-gpu", "bound") if fact["at_s"] == 0.0]
    assert len(first) == 5
    workers = [fact["node"] for fact in first if "worker" in fact["pod"]]
    assert len(set(workers)) < len(workers), "two workers share a node, and a device of it"


def test_training_leaves_as_a_whole_for_inference_and_comes_back(seed_000: tuple[Facts, dict[str, Any]]) -> None:
    facts, summary = seed_000
    evicted = _of(facts, "raycluster-half-gpu", "evicted")
    assert len(evicted) == 5
    assert {fact["by"] for fact in evicted} == {"chat"}
    assert len(_of(facts, "chat", "gone")) == 2
    assert len(_of(facts, "raycluster-half-gpu", "started")) == 2
    assert _of(facts, "raycluster-half-gpu", "finished")[0]["why"] == "succeeded"
    assert summary["n_evictions"] >= 1


def test_a_cluster_without_a_queue_waits_with_the_guides_error(seed_000: tuple[Facts, dict[str, Any]]) -> None:
    facts, summary = seed_000
    said = _of(facts, "raycluster-no-queue", "waiting")[0]["why"]
    assert said == "Queue label missing from RayCluster; pods will remain pending"
    assert _of(facts, "raycluster-no-queue", "bound") == []
    assert summary["outcomes"]["unfinished"] == 1


def test_vllm_takes_the_place_of_a_whole_training_gang(seed_001: tuple[Facts, dict[str, Any]]) -> None:
    facts, _ = seed_001
    evicted = _of(facts, "raycluster-sample", "evicted")
    assert len(evicted) == 3
    assert {(fact["at_s"], fact["by"]) for fact in evicted} == {(4500.0, "ray-kai-scheduler-serve-llm")}
    started = _of(facts, "ray-kai-scheduler-serve-llm", "started")[0]["at_s"]
    assert started - 4500.0 <= 31.0, "it waits for no more than the grace of what leaves"


def test_training_waits_for_its_queue_and_comes_back_as_a_gang(seed_001: tuple[Facts, dict[str, Any]]) -> None:
    facts, summary = seed_001
    why = _of(facts, "raycluster-sample", "waiting")[0]["why"]
    assert why.startswith("team-a quota has reached the allowable limit of GPUs. Limit is 2 GPUs")
    back = [fact["at_s"] for fact in _of(facts, "raycluster-sample", "bound")][3:]
    assert back == [11_700.0] * 3, "as soon as the service is being deleted"
    assert summary["outcomes"] == {"deleted": 1, "succeeded": 1}
    # Seventy-four minutes of work on two GPUs, of which the last checkpoint kept sixty.
    assert summary["lost_gpu_hours"] == pytest.approx(2 * (4500 - 62 - 3600) / 3600, abs=1e-3)
