"""The fates of running work under Volcano against what the real scheduler did: see volcano-fates/README.md."""

from __future__ import annotations

import gzip
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.test_kueue_fates import changed
from tests.unit.review.volcano_objects import objects_of
from tests.unit.review.volcano_tree_objects import objects_of as tree_objects_of

from apportion_review.fates.records import Fate
from apportion_review.fates.volcano import volcano_fates
from apportion_runtime.engines.volcano.snapshot_cycles import evictions_by_cycle

HERE = Path(__file__).parent / "volcano-fates"
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


@dataclass(frozen=True, slots=True)
class Pair:
    """A cluster before and after a change, and what Volcano evicted on both sides; `n_cycles` are those recorded."""

    name: str
    direction: str
    sides: tuple[list[dict[str, Any]], list[dict[str, Any]]]
    waiting: list[list[list[list[str]]]]
    demand: list[list[str]]
    n_cycles: int


def lines(name: str) -> Iterator[dict[str, Any]]:
    """Yield the documents of a file."""
    with gzip.open(HERE / name, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def pairs() -> Iterator[Pair]:
    """Yield each pair of a cluster and a change."""
    for number, line in enumerate(lines("pairs.jsonl.gz")):
        head = changed(line["cluster"], line["head"])
        sides = list(objects_of(line["cluster"])), list(objects_of(head))
        yield Pair(f"pair {number}", line["direction"], sides, line["waiting"], line["demand"], 3)


def trees() -> Iterator[Pair]:
    """Yield each pair with a deep tree of queues."""
    for number, line in enumerate(lines("trees.jsonl.gz")):
        base, head = (list(tree_objects_of(side)) for side in line["sides"])
        yield Pair(f"tree {number}", line["direction"], (base, head), line["waiting"], line["demand"], 2)


def simulated(objects: list[dict[str, Any]], n_cycles: int) -> list[list[str]]:
    """Return the running pods that each simulated cycle evicts."""
    names = {made["metadata"]["uid"]: made["metadata"]["name"] for made in objects if made["kind"] == "Pod"}
    cycles = [sorted(names[found.pod] for found in cycle) for cycle in evictions_by_cycle(objects, n_cycles)]
    while cycles and not cycles[-1]:
        cycles.pop()
    return cycles


def gangs(pods: list[str]) -> set[str]:
    """Return the gangs of pods."""
    return {pod.rsplit("-", 2)[0] for pod in pods}


def check(pair: Pair) -> Iterator[tuple[Fate, bool]]:
    """Compare a pair; yield each fate of its head, and whether the simulation evicts exactly what Volcano does."""
    found = volcano_fates(*pair.sides, now=None)
    assert found.is_verified
    assert found.rows
    for n in (0, 1):
        outcomes = pair.waiting[n]
        where = f"{pair.name} ({pair.direction}) side {n}"
        is_exact = simulated(pair.sides[n], pair.n_cycles) in outcomes
        assert is_exact or len(outcomes) > 1, where
        always = set.intersection(*({gang for cycle in outcome for gang in gangs(cycle)} for outcome in outcomes))
        ever = {gang for outcome in outcomes for cycle in outcome for gang in gangs(cycle)} | gangs(pair.demand[n])
        assert ever <= {row.workload.name for row in found.rows}, where
        for row in found.rows:
            verdict, name = (row.base, row.head)[n], row.workload.name
            assert not (verdict.fate in KEPT and name in ever), f"{where} {name}: {verdict}"
            assert verdict.fate is Fate.EVICTED or name not in always, f"{where} {name}: {verdict}"
            if n:
                yield verdict.fate, is_exact


def test_sample_of_fates_matches_volcano() -> None:
    for pair in itertools.chain(itertools.islice(pairs(), 0, None, 24), itertools.islice(trees(), 0, None, 12)):
        list(check(pair))


@pytest.mark.slow
def test_all_fates_match_volcano() -> None:
    fates: Counter[Fate] = Counter()
    directions: Counter[str] = Counter()
    n_several = n_exact_of_several = 0
    for pair in pairs():
        directions[pair.direction] += 1
        checked = list(check(pair))
        fates.update(fate for fate, _ in checked)
        if len(pair.waiting[1]) > 1:
            n_several += 1
            n_exact_of_several += checked[0][1]
    assert directions.total() >= 400
    assert directions.keys() == DIRECTIONS
    # If the result depends on Volcano's thread timing, the simulation usually matches one of the recorded results.
    assert n_exact_of_several >= n_several - 2
    # Each comparison occurs.
    assert min(fates[fate] for fate in (Fate.SAFE, Fate.ON_DEMAND, Fate.EVICTED)) >= 300, fates
    assert fates[Fate.STUCK] >= 10, fates


@pytest.mark.slow
def test_fates_in_deep_trees_match_volcano() -> None:
    fates: Counter[Fate] = Counter()
    n_pairs = 0
    for pair in trees():
        n_pairs += 1
        fates.update(fate for fate, _ in check(pair))
    assert n_pairs >= 75
    assert min(fates[fate] for fate in (Fate.SAFE, Fate.ON_DEMAND, Fate.EVICTED)) >= 75, fates
