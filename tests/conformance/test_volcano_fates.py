"""The fates of running work under Volcano against what the real scheduler did: see volcano-fates/README.md."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.test_kueue_fates import changed
from tests.unit.review.volcano_objects import objects_of

from apportion_review.fates.records import Fate
from apportion_review.fates.volcano import volcano_fates
from apportion_runtime.engines.volcano.snapshot_cycles import evictions_by_cycle

PAIRS = Path(__file__).parent / "volcano-fates/pairs.jsonl.gz"
N_CYCLES = 3
KEPT = (Fate.SAFE, Fate.STUCK)
DIRECTIONS = {
    "cut",
    "grow",
    "move",
    "weight",
    "priority",
    "limit",
    "guarantee",
    "preemptibility",
    "class",
    "reclaimable",
    "quota above",
    "parent",
    "pool lost",
    "queue lost",
}


def pairs() -> Iterator[dict[str, Any]]:
    """Yield each pair of a cluster and a change."""
    with gzip.open(PAIRS, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def simulated(side: Mapping[str, Any]) -> list[list[str]]:
    """Return the running pods that each simulated cycle evicts."""
    names = {made["metadata"]["uid"]: made["metadata"]["name"] for made in objects_of(side) if made["kind"] == "Pod"}
    cycles = [sorted(names[found.pod] for found in cycle) for cycle in evictions_by_cycle(objects_of(side), N_CYCLES)]
    while cycles and not cycles[-1]:
        cycles.pop()
    return cycles


def gangs(pods: list[str]) -> set[str]:
    """Return the gangs of pods."""
    return {pod.rpartition("-worker-")[0] for pod in pods}


def check(pair: Mapping[str, Any], number: int) -> Iterator[tuple[Fate, bool]]:
    """Compare a pair; yield each fate of its head, and whether the simulation evicts exactly what Volcano does."""
    sides = (pair["cluster"], changed(pair["cluster"], pair["head"]))
    found = volcano_fates(*(list(objects_of(side)) for side in sides), now=None)
    assert found.is_verified
    assert {row.workload.name for row in found.rows} == set(pair["cluster"]["running"])
    for n in (0, 1):
        outcomes = pair["waiting"][n]
        where = f"pair {number} ({pair['direction']}) side {n}"
        is_exact = simulated(sides[n]) in outcomes
        assert is_exact or len(outcomes) > 1, where
        always = set.intersection(*({gang for cycle in outcome for gang in gangs(cycle)} for outcome in outcomes))
        ever = {gang for outcome in outcomes for cycle in outcome for gang in gangs(cycle)} | gangs(pair["demand"][n])
        for row in found.rows:
            verdict, name = (row.base, row.head)[n], row.workload.name
            assert not (verdict.fate in KEPT and name in ever), f"{where} {name}: {verdict}"
            assert verdict.fate is Fate.EVICTED or name not in always, f"{where} {name}: {verdict}"
            if n:
                yield verdict.fate, is_exact


def test_fates_are_those_of_volcano() -> None:
    for number, pair in list(enumerate(pairs()))[::16]:
        list(check(pair, number))


@pytest.mark.slow
def test_all_fates_are_those_of_volcano() -> None:
    fates: Counter[Fate] = Counter()
    directions: Counter[str] = Counter()
    n_several = n_exact_of_several = 0
    for number, pair in enumerate(pairs()):
        directions[pair["direction"]] += 1
        checked = list(check(pair, number))
        fates.update(fate for fate, _ in checked)
        if len(pair["waiting"][1]) > 1:
            n_several += 1
            n_exact_of_several += checked[0][1]
    assert directions.total() >= 400
    assert directions.keys() == DIRECTIONS
    # Where Volcano's threads decide, the simulation is mostly among what was recorded.
    assert n_exact_of_several >= n_several - 2
    # None of the comparisons is vacuous.
    assert min(fates[fate] for fate in (Fate.SAFE, Fate.ON_DEMAND, Fate.EVICTED)) >= 300, fates
    assert fates[Fate.STUCK] >= 10, fates
