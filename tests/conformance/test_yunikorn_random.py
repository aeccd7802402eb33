"""Every decision of the simulated YuniKorn in random timelines against YuniKorn's own core: see yunikorn_random/README.md."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from tests.conformance.random_cases import cases
from tests.conformance.yunikorn_cases import replay

FOLDER = "yunikorn_random"
KEYS = ("allocated", "apps", "evicted", "rejected", "reserved")


def check(case: dict[str, Any]) -> None:
    """Compare the decisions of a case with those recorded."""
    found = replay({**case, "config": json.dumps(case["config"])})
    assert [{key: state[key] for key in KEYS if state[key]} for state in found] in case["outcomes"], case["name"]


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
    assert n_cases >= 200
    assert exercised["evicted"] >= 50, exercised
    assert exercised["reservation used"] >= 50, exercised
    assert exercised["placeholder gone"] >= 50, exercised
    assert min(exercised.values()) >= 1, exercised
