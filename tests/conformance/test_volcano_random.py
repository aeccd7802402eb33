"""Every bind and eviction of the simulated Volcano in random timelines against Volcano's own scheduler: see volcano_random/README.md."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.conformance.random_cases import cases
from tests.conformance.volcano_timelines import simulated

FOLDER = "volcano_random"


def check(case: dict[str, Any]) -> None:
    """Compare the decisions of a case with those recorded."""
    assert simulated(case) in case["outcomes"], f"case {case['seed']}"


def test_sample_of_decisions_matches_volcano() -> None:
    for case in list(cases(FOLDER))[::12]:
        check(case)


@pytest.mark.slow
def test_all_decisions_match_volcano() -> None:
    exercised: Counter[str] = Counter()
    n_cases = 0
    for case in cases(FOLDER):
        check(case)
        n_cases += 1
        exercised.update(case["exercises"])
    assert n_cases >= 300
    assert exercised["evictions"] >= 150, exercised
    assert min(exercised.values()) >= 20, exercised
