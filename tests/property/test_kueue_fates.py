"""The simulated Kueue evicts no safe workload for any demand: random clusters, quota changes and waves of demand."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.unit.review.kueue_objects import objects_of

from apportion_review.fates.kueue import kueue_fates
from apportion_review.fates.records import Fate

PREEMPTION = ("Never", "LowerPriority")
WITHIN = (*PREEMPTION, "LowerOrNewerEqualPriority")
RECLAIM = (*PREEMPTION, "Any", "Any")
FATES = (Fate.SAFE, Fate.STUCK)


def _limits(chance: random.Random) -> dict[str, Any]:
    made: dict[str, Any] = {"nominal": chance.choice((0, 2, 4, 8))}
    if chance.random() < 0.4:
        made["borrow"] = chance.choice((0, 0, 2, 6))
    if chance.random() < 0.2:
        made["lend"] = chance.randint(0, made["nominal"])
    return made


def _cluster(chance: random.Random) -> dict[str, Any]:
    cohorts: dict[str, Any] = {"root": {"nominal": chance.choice((0, 4))}}
    for name in ("left", "right")[: chance.randint(0, 2)]:
        cohorts[name] = {**_limits(chance), "parent": "root"}
    queues: dict[str, Any] = {}
    for name in "abcd"[: chance.randint(2, 4)]:
        queues[name] = {
            **_limits(chance), "cohort": chance.choice((*cohorts, "root")),
            "within": chance.choice(WITHIN), "reclaim": chance.choice(RECLAIM),
        }  # fmt: skip
        if queues[name]["reclaim"] != "Never" and chance.random() < 0.3:
            queues[name]["while_borrowing"] = chance.choice((0, 50, 100))
    running = {
        f"w{number}": {
            "queue": chance.choice(tuple(queues)), "gpus": chance.randint(1, 4),
            "priority": chance.choice((0, 50, 100)), "conditions": ["PodsReady"],
        }
        for number in range(chance.randint(2, 8))
    }  # fmt: skip
    return {"fair": chance.random() < 0.5, "cohorts": cohorts, "queues": queues, "running": running}


def _demand(cluster: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    return {
        f"p{number}": {
            "queue": chance.choice(tuple(cluster["queues"])), "gpus": chance.randint(1, 8),
            "priority": chance.choice((0, 50, 100)),
        }
        for number in range(chance.randint(3, 20))
    }  # fmt: skip


def _check(seed: int) -> tuple[int, int]:
    """Compare a cluster without pending workloads to waves of them; return how many are safe and never evicted."""
    chance = random.Random(f"kueue-fates-{seed}")
    cluster = _cluster(chance)
    quiet = list(objects_of(cluster))
    fates = {row.workload.name: row.head.fate for row in kueue_fates(quiet, quiet, now=None).rows}
    evicted: set[str] = set()
    for _ in range(6):
        asked = list(objects_of({**cluster, "pending": _demand(cluster, chance)}))
        found = kueue_fates(quiet, asked, now=None)
        evicted |= {row.workload.name for row in found.rows if row.head.fate is Fate.EVICTED}
    safe = {name for name, fate in fates.items() if fate in FATES}
    assert not safe & evicted, (seed, safe & evicted)
    return len(safe), len(fates.keys() - evicted)


def test_safe_work_is_not_evicted() -> None:
    for seed in range(4):
        _check(seed)


@pytest.mark.slow
def test_safe_work_is_not_evicted_in_many_clusters() -> None:
    counts = [_check(seed) for seed in range(150)]
    n_safe, n_kept = (sum(of) for of in zip(*counts, strict=True))
    assert n_safe >= 0.3 * n_kept
