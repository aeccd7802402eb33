"""The fates of running work under KAI Scheduler against what the real scheduler did: see kai-fates/README.md."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.test_kueue_fates import changed
from tests.unit.review.kai_objects import SNAPSHOT_S, START, objects_of

from apportion_review.fates.cluster_state import cluster_states
from apportion_review.fates.kai import kai_fates
from apportion_review.fates.records import Fate
from apportion_runtime.core.rounds import rounds
from apportion_runtime.snapshots.document_loader import LocatedObject
from apportion_runtime.snapshots.faults import ObjectLocation
from apportion_runtime.snapshots.kubernetes.reader import read_cluster

PAIRS = Path(__file__).parent / "kai-fates/pairs.jsonl.gz"
KEPT = (Fate.SAFE, Fate.STUCK)
DIRECTIONS = {
    "cut",
    "grow",
    "move",
    "weight",
    "priority",
    "limit",
    "minimum runtime",
    "preemptibility",
    "class",
    "quota above",
    "queue lost",
}


def pairs() -> Iterator[dict[str, Any]]:
    """Yield each pair of a cluster and a change."""
    with gzip.open(PAIRS, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def core_evictions(side: Mapping[str, Any]) -> set[str]:
    """Return the running gangs that one cycle of the core evicts."""
    located = [LocatedObject(made, ObjectLocation(0, 0)) for made in objects_of(side)]
    cluster = read_cluster(located, [], now=START + SNAPSHOT_S, shard=None)
    (session,) = rounds(cluster.snapshot, cluster.settings, 1, 0)
    evicted = {task.pod.name.rpartition("-")[0] for task, _, _ in session.decided.evictions}
    return evicted & set(side["running"])


def check(pair: Mapping[str, Any], number: int) -> Iterator[Fate]:
    """Compare a pair, and yield the fates in its head."""
    sides = (pair["cluster"], changed(pair["cluster"], pair["head"]))
    found = kai_fates(*cluster_states(*(list(objects_of(side)) for side in sides), now=START + SNAPSHOT_S))
    names = {row.workload.name for row in found.rows}
    assert names == set(pair["cluster"]["running"])
    for n in (0, 1):
        waiting, demand = set(pair["waiting"][n]), set(pair["demand"][n])
        assert core_evictions(sides[n]) == waiting, f"pair {number} ({pair['direction']}) side {n}"
        for row in found.rows:
            verdict, name = (row.base, row.head)[n], row.workload.name
            what = f"pair {number} ({pair['direction']}) side {n} {name}: {verdict}"
            assert not (verdict.fate in KEPT and (name in waiting or name in demand)), what
            assert verdict.fate is Fate.EVICTED or name not in waiting, what
            if n:
                yield verdict.fate


def test_sample_of_fates_matches_kai() -> None:
    for number, pair in list(enumerate(pairs()))[::40]:
        list(check(pair, number))


@pytest.mark.slow
def test_all_fates_match_kai() -> None:
    fates: Counter[Fate] = Counter()
    directions: Counter[str] = Counter()
    for number, pair in enumerate(pairs()):
        directions[pair["direction"]] += 1
        fates.update(check(pair, number))
    assert directions.total() >= 1_000
    assert directions.keys() == DIRECTIONS
    # Each comparison occurs.
    assert min(fates[fate] for fate in (Fate.SAFE, Fate.STUCK, Fate.ON_DEMAND, Fate.EVICTED)) >= 100, fates
