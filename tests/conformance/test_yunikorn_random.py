"""Every decision of the simulated YuniKorn in random timelines against YuniKorn's own core: see yunikorn_random/README.md."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.conformance.random_cases import cases
from tests.conformance.yunikorn_timelines import agrees

FOLDER = "yunikorn_random"


def check(case: dict[str, Any]) -> None:
    """Compare the decisions of a case with those recorded."""
    assert agrees(case), case["name"]


def test_sample_of_decisions_matches_yunikorn() -> None:
    for case in list(cases(FOLDER))[::4]:
        check(case)


@pytest.mark.slow
def test_all_decisions_match_yunikorn() -> None:
    exercised: Counter[str] = Counter()
    n_cases = 0
    for case in cases(FOLDER):
        check(case)
        n_cases += 1
        exercised.update(case["exercises"])
    assert n_cases >= 400
    assert exercised["evicted"] >= 50, exercised
    assert exercised["reservation used"] >= 50, exercised
    assert exercised["placeholder gone"] >= 50, exercised
    assert exercised["evicted on a required node"] >= 10, exercised
    assert exercised["app forced"] >= 10, exercised
    assert exercised["node joins again"] >= 2, exercised
    assert min(exercised.values()) >= 1, exercised
