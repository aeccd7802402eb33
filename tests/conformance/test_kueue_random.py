"""Every decision of the simulated Kueue in random timelines against Kueue's own scheduler: see kueue_random/README.md."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.conformance.kueue_timelines import simulated
from tests.conformance.random_cases import cases

FOLDER = "kueue_random"
REASONS = ("InClusterQueue", "InCohortReclamation", "InCohortFairSharing", "InCohortReclaimWhileBorrowing")


def check(case: dict[str, Any]) -> None:
    """Compare the decisions of a case with those recorded."""
    assert simulated(case) in case["outcomes"], f"case {case['seed']}"


def test_sample_of_decisions_matches_kueue() -> None:
    for case in list(cases(FOLDER))[::6]:
        check(case)


@pytest.mark.slow
def test_all_decisions_match_kueue() -> None:
    exercised: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    n_cases = 0
    for case in cases(FOLDER):
        check(case)
        n_cases += 1
        exercised.update(case["exercises"])
        reasons.update(how[0] for _, what, _, how in case["outcomes"][0] if what == "preempted")
    assert n_cases >= 430
    assert reasons.keys() == set(REASONS)
    assert min(reasons.values()) >= 200, reasons
    assert min(exercised.values()) >= 1, exercised
    assert exercised["cohort levels: 3"] >= 100, exercised
