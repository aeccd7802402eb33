"""Outcome tests of the team's pipeline: `pytest examples/seed-001-kai-vllm`."""

import pytest


@pytest.fixture
def outcome(apportion_simulate):
    return apportion_simulate(".", "scenario.yaml")


def test_inference_gets_its_gpus_within_a_minute(outcome):
    assert outcome.workload("ray-kai-scheduler-serve-llm").waited_s <= 60


def test_training_finishes_the_same_day_and_loses_less_than_a_gpu_hour(outcome):
    assert outcome.workload("raycluster-sample").outcome == "succeeded"
    outcome.assert_waits("department-1", at_most="2h", gpus=3)
    outcome.assert_lost("team-a", at_most_gpu_hours=1)


def test_the_team_uses_its_fair_share(outcome):
    outcome.assert_share("team-a", at_least=0.9)
    outcome.assert_evictions("team-a", at_most=2, by="team-a")
