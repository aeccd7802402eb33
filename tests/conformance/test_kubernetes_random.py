"""Every decision of the simulated kube-scheduler in random timelines against its own code: see kubernetes_random/README.md."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.conformance.kubernetes_timelines import difference
from tests.conformance.random_cases import cases

FOLDER = "kubernetes_random"


def test_sample_of_decisions_matches_kube_scheduler() -> None:
    for case in list(cases(FOLDER))[::8]:
        assert difference(case) == ""


@pytest.mark.slow
def test_all_decisions_match_kube_scheduler() -> None:
    exercised: Counter[str] = Counter()
    n_cases = 0
    for case in cases(FOLDER):
        assert difference(case) == ""
        n_cases += 1
        exercised.update(case["exercises"])
    assert n_cases >= 300
    assert min(exercised.values()) >= 10, exercised
    assert min(exercised[rule] for rule in ("preemption", "nomination", "termination")) >= 100, exercised
