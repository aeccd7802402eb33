"""Seeds 000 and 001 on the simulated cluster: the expected events of their READMEs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from apportion_cli.outcomes import Outcome
from apportion_runtime.sim.history import Fact, PodStay

_ROOT = Path(__file__).parents[2]
_EXAMPLES = _ROOT / "examples"
_GANG, _CHAT, _NOTEBOOK = "raycluster-half-gpu", "chat", "notebook"
_TRAINING, _VLLM = "raycluster-sample", "ray-kai-scheduler-serve-llm"
Simulate = Callable[..., Outcome]


@pytest.fixture
def seed_000(apportion_simulate: Simulate) -> Outcome:
    return apportion_simulate(_EXAMPLES / "seed-000-kai-ray", _EXAMPLES / "seed-000-kai-ray/scenario.yaml")


@pytest.fixture
def spread_000(apportion_simulate: Simulate) -> Outcome:
    return apportion_simulate(_EXAMPLES / "seed-000-kai-ray/spread.py", _EXAMPLES / "seed-000-kai-ray/scenario.yaml")


@pytest.fixture
def seed_001(apportion_simulate: Simulate) -> Outcome:
    return apportion_simulate(_EXAMPLES / "seed-001-kai-vllm", _EXAMPLES / "seed-001-kai-vllm/scenario.yaml")


def _of(outcome: Outcome, workload: str, what: str) -> list[Fact]:
    return [fact for fact in outcome.history.facts if fact.what == what and fact.workload == workload]


def _stays(outcome: Outcome, workload: str, at_s: float) -> list[PodStay]:
    return [
        stay
        for stay in outcome.history.stays
        if outcome.report.workloads[stay.workload].name == workload and stay.since_s <= at_s < stay.until_s
    ]


def _gpus(outcome: Outcome, workload: str, at_s: float) -> float:
    return sum(stay.gpus for stay in _stays(outcome, workload, at_s))


def test_000_team_and_department(seed_000: Outcome) -> None:
    assert (seed_000.queue("team-a").parent, seed_000.queue("department-1").parent) == ("department-1", None)
    assert seed_000.queue("department-1").gpu_hours == seed_000.queue("team-a").gpu_hours
    ran = {workload.name for workload in seed_000.workloads("department-1") if workload.runs}
    assert ran == {_GANG, _NOTEBOOK, _CHAT}


def test_000_gang_starts_as_a_whole(seed_000: Outcome) -> None:
    assert seed_000.workload(_GANG).gpus == 3.0
    seen = {(len(stays), sum(stay.gpus for stay in stays)) for stays in map(_gang_at(seed_000), range(0, 21_600, 60))}
    assert seen == {(5, 3.0), (0, 0.0)}
    assert sorted(stay.gpus for stay in _stays(seed_000, _GANG, 0.0)) == [0.5, 0.5, 0.5, 0.5, 1.0]


def _gang_at(outcome: Outcome) -> Callable[[float], list[PodStay]]:
    return lambda at_s: _stays(outcome, _GANG, at_s)


def test_000_fractions_share_a_gpu(seed_000: Outcome) -> None:
    workers = [stay for stay in _stays(seed_000, _GANG, 0.0) if stay.gpus == 0.5]
    devices = [stay.devices for stay in workers]
    assert len(workers) == 4
    assert len(set(devices)) == 2, "four halves on two devices"
    assert {devices.count(device) for device in devices} == {2}
    for device in set(devices):
        assert len({stay.node for stay in workers if stay.devices == device}) == 1


def test_000_inference_preempts_the_training_gang(seed_000: Outcome) -> None:
    evicted = _of(seed_000, _GANG, "evicted")
    assert len(evicted) == 5
    assert {(fact.at_s, fact.by) for fact in evicted} == {(1800.0, _CHAT)}
    assert {fact.why for fact in evicted} == {"lower priority in the same queue (50 < 125)"}
    assert len(_of(seed_000, _GANG, "started")) == 2
    assert seed_000.workload(_GANG).outcome == "succeeded"
    # Nobody evicts what has a place and is not preemptible, nor the notebook, for which there was room.
    seed_000.assert_evictions("team-a", at_most=1)
    assert seed_000.workload(_CHAT).n_evictions == seed_000.workload(_NOTEBOOK).n_evictions == 0


def test_000_missing_queue_label_is_reported(seed_000: Outcome) -> None:
    assert [fact.why for fact in _of(seed_000, "raycluster-no-queue", "waiting")] == [
        "Queue label missing from RayCluster; pods will remain pending"
    ]
    assert seed_000.workload("raycluster-no-queue").runs == ()
    assert seed_000.workload("raycluster-no-queue").outcome == "unfinished"


def test_000_binpack_and_spread(seed_000: Outcome, spread_000: Outcome) -> None:
    packed, spread = ({stay.node for stay in _stays(made, _GANG, 0.0)} for made in (seed_000, spread_000))
    assert len(packed) == 2
    assert len(spread) == 3
    # So the first replica of two GPUs starts at once on the packed cluster, and after the gang's grace on the other.
    assert seed_000.workload(_CHAT).started_s == 1800.0
    assert spread_000.workload(_CHAT).started_s == 1830.0
    assert (seed_000.report.summary.fragmentation or 0.0) < (spread_000.report.summary.fragmentation or 0.0)


def test_001_training_borrows_idle_gpus(seed_001: Outcome) -> None:
    quota = next(found for found in seed_001.report.series if found.queue == "team-a").quota
    assert {value for _, value in quota} == {2.0}
    assert _gpus(seed_001, _TRAINING, 600.0) == 3.0


def test_001_elastic_gang_shrinks_to_its_minimum(seed_001: Outcome) -> None:
    first = [fact for fact in _of(seed_001, _TRAINING, "evicted") if fact.at_s == 3600.0]
    assert [(fact.pod, fact.by) for fact in first] == [("raycluster-sample-worker-worker-2", _VLLM)]
    assert _gpus(seed_001, _TRAINING, 5400.0) == 2.0, "it goes on with its minimum"
    assert _gpus(seed_001, _VLLM, 5400.0) == 1.0
    assert seed_001.workload(_VLLM).waited_s <= 60.0, "for no more than the grace of what leaves"


def test_001_gang_is_evicted_below_its_minimum(seed_001: Outcome) -> None:
    second = [fact for fact in _of(seed_001, _TRAINING, "evicted") if fact.at_s == 7200.0]
    assert len(second) == 3, "the head and both workers"
    assert {fact.by for fact in second} == {_VLLM}
    assert _stays(seed_001, _TRAINING, 9000.0) == []
    assert _gpus(seed_001, _VLLM, 9000.0) == 2.0


def test_001_training_resumes_and_grows(seed_001: Outcome) -> None:
    back = [fact.at_s for fact in _of(seed_001, _TRAINING, "started")]
    assert back == [0.0, 12_630.0], "half a minute of grace after inference scales down at three and a half hours"
    assert _gpus(seed_001, _TRAINING, 13_000.0) == 2.0
    assert _gpus(seed_001, _TRAINING, 18_500.0) == 3.0, "the service is gone"
    assert seed_001.workload(_TRAINING).outcome == "succeeded"
    held = {_gpus(seed_001, _TRAINING, float(at)) for at in range(0, 19_800, 30)}
    assert held == {0.0, 2.0, 3.0}, "never below its minimum, never above its maximum"
    seed_001.assert_evictions("team-a", at_most=2, by="team-a")


@pytest.mark.slow
def test_outcome_tests_of_the_examples_pass() -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "examples/seed-001-kai-vllm"],
        cwd=_ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "3 passed" in finished.stdout
