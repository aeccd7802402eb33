"""Every decision of the simulated Koordinator in random timelines against its plugins: see koordinator_random/README.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from tests.conformance.koordinator_timelines import simulated
from tests.conformance.random_cases import cases

FOLDER = "koordinator_random"


def check(case: Mapping[str, Any]) -> None:
    """Compare the decisions of a case with those recorded, and the runtime quotas where they changed."""
    runtime: dict[str, dict[str, int]] = {}
    for found, recorded in zip(simulated(case), case["runs"], strict=True):
        runtime.update(recorded["runtime"])
        expected = {**recorded, "runtime": {name: runtime.get(name, {}) for name in found["runtime"]}}
        assert found == expected, f"case {case['seed']} at {recorded['at']:g}s"


def test_sample_of_decisions_matches_koordinator() -> None:
    for case in list(cases(FOLDER))[::8]:
        check(case)


@pytest.mark.slow
def test_all_decisions_match_koordinator() -> None:
    exercised: Counter[str] = Counter()
    n_cases = 0
    for case in cases(FOLDER):
        check(case)
        n_cases += 1
        exercised.update(case["exercises"])
    assert n_cases >= 300
    assert min(exercised.values()) >= 3, exercised
    assert min(exercised[rule] for rule in ("preemption", "revocation", "gang rejected")) >= 50, exercised
