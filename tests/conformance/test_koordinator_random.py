"""Every decision of the simulated Koordinator in random timelines against its plugins: see koordinator_random/README.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from tests.conformance.koordinator_timelines import difference
from tests.conformance.random_cases import cases

FOLDER = "koordinator_random"


def check(case: Mapping[str, Any]) -> None:
    """Compare the decisions of a case with those recorded, and the runtime quotas where they changed."""
    assert difference(case) == ""


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
