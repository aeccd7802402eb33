"""Every decision of the simulated kube-queue in random timelines against the public code: see ack_random/README.md."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields

from tests.conformance.ack_timelines import agrees
from tests.conformance.random_cases import cases

from apportion_runtime.kube_queue.queueing import QueueRules

FOLDER = "ack_random"


def test_decisions_match_kube_queue_and_koord_queue() -> None:
    exercised: Counter[str] = Counter()
    n_cases = 0
    differing: Counter[str] = Counter()
    for case in cases(FOLDER):
        assert agrees(case), f"case {case['seed']}"
        n_cases += 1
        exercised.update(case["exercises"])
        differing.update(case.get("differs", ()))
    assert n_cases >= 450
    assert min(differing[each.name] for each in fields(QueueRules)) >= 10, differing
    assert min(exercised.values()) >= 5, exercised
    assert min(exercised[f"engine {name}"] for name in ("kube-queue", "koord-queue")) >= 100, exercised
    assert min(exercised[f"policy {name}"] for name in ("Round", "Block", "Priority")) >= 50, exercised
