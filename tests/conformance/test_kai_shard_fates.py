"""The fates of running work in KAI clusters with shards, shared GPUs and elastic gangs: see kai-fates/README.md."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.test_kueue_fates import changed
from tests.unit.review.kai_shard_objects import SNAPSHOT_S, START, objects_of

from apportion_review.fates.cluster_state import cluster_states
from apportion_review.fates.kai import kai_fates
from apportion_review.fates.records import Fate

PAIRS = Path(__file__).parent / "kai-fates/shard-pairs.jsonl.gz"
KEPT = (Fate.SAFE, Fate.STUCK)


def pairs() -> Iterator[dict[str, Any]]:
    """Yield each pair of a cluster and a change."""
    with gzip.open(PAIRS, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def check(pair: Mapping[str, Any]) -> Iterator[Fate]:
    """Compare both sides of a pair with what the scheduler evicted, and yield the fates."""
    sides = (pair["cluster"], changed(pair["cluster"], pair["head"]))
    found = kai_fates(*cluster_states(*(list(objects_of(side)) for side in sides), now=START + SNAPSHOT_S))
    assert {row.workload.name for row in found.rows} == {name for name in pair["cluster"]["gangs"] if name[0] == "r"}
    for side, (waiting, demand) in enumerate(zip(pair["waiting"], pair["demand"], strict=True)):
        for row in found.rows:
            verdict, name = (row.base, row.head)[side], row.workload.name
            what = f"pair {pair['seed']} ({pair['direction']}) side {side} {name}: {verdict}"
            assert (verdict.fate is Fate.EVICTED) == (name in waiting), what
            assert not (verdict.fate in KEPT and name in demand), what
            yield verdict.fate


def test_sample_of_fates_matches_kai() -> None:
    for pair in list(pairs())[::40]:
        list(check(pair))


@pytest.mark.slow
def test_all_fates_match_kai() -> None:
    fates: Counter[Fate] = Counter()
    for pair in pairs():
        fates.update(check(pair))
    # Each comparison occurs.
    assert min(fates[fate] for fate in (Fate.SAFE, Fate.STUCK, Fate.ON_DEMAND, Fate.EVICTED)) >= 50, fates
