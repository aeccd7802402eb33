"""Every decision of the simulated Koordinator in random timelines against its plugins: see koordinator_random/README.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Any

import pytest
import yaml
from tests.conformance import koordinator_timelines
from tests.conformance.koordinator_profiles import PROFILES, emitted_configuration, recorded_configuration
from tests.conformance.koordinator_timelines import difference
from tests.conformance.random_cases import cases

from apportion_runtime.engines.koordinator.configuration import ConfigurationError

FOLDER = "koordinator_random"


def check(case: Mapping[str, Any]) -> None:
    """Compare the decisions of a case with those recorded, and the runtime quotas where they changed."""
    assert difference(case) == ""


def test_sample_of_decisions_matches_koordinator() -> None:
    for case in list(cases(FOLDER))[::8]:
        check(case)


@pytest.mark.parametrize("profile", PROFILES)
def test_koordinator_decided_with_the_emitted_configuration(profile: str) -> None:
    assert yaml.safe_load(emitted_configuration(profile)) == recorded_configuration(profile)


def test_every_profile_decided_cases() -> None:
    assert {case["profile"] for case in cases(FOLDER) if "profile" in case} == set(PROFILES)


def test_cases_fail_if_the_emitted_configuration_lacks_a_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without NodeResourcesFitPlus under preScore, koord-scheduler schedules no pod that fits on two nodes."""

    def emitted(profile: str) -> str:
        configuration = yaml.safe_load(emitted_configuration(profile))
        enabled = configuration["profiles"][0]["plugins"]["preScore"]["enabled"]
        enabled.remove({"name": "NodeResourcesFitPlus"})
        return yaml.safe_dump(configuration)

    monkeypatch.setattr(koordinator_timelines, "emitted_configuration", emitted)
    for case in islice((case for case in cases(FOLDER) if "profile" in case), 3):
        with pytest.raises(ConfigurationError, match="not under preScore"):
            difference(case)


@pytest.mark.slow
def test_all_decisions_match_koordinator() -> None:
    exercised: Counter[str] = Counter()
    n_cases = 0
    for case in cases(FOLDER):
        check(case)
        n_cases += 1
        exercised.update(case["exercises"])
    assert n_cases >= 400
    assert min(exercised.values()) >= 3, exercised
    assert min(exercised[rule] for rule in ("preemption", "revocation", "gang rejected")) >= 50, exercised
