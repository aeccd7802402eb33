"""The fates of running work in Kueue clusters with several flavors, resources and levels: see kueue-fates/README.md."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.test_kueue_fates import changed
from tests.unit.review.kueue_flavor_objects import NOW, objects_of

from apportion_review.fates.kueue import kueue_fates
from apportion_review.fates.records import Fate

PAIRS = Path(__file__).parent / "kueue-fates/flavor-pairs.jsonl.gz"
KEPT = (Fate.SAFE, Fate.STUCK)


def pairs() -> Iterator[dict[str, Any]]:
    """Yield each pair of a cluster and a change."""
    with gzip.open(PAIRS, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def check(pair: Mapping[str, Any]) -> Iterator[Fate]:
    """Compare both sides of a pair with what Kueue evicted, and yield the fates."""
    sides = (pair["cluster"], changed(pair["cluster"], pair["head"]))
    found = kueue_fates(*(list(objects_of(side)) for side in sides), now=NOW)
    running = {name for name, said in pair["cluster"]["workloads"].items() if "flavors" in said}
    assert {row.workload.name for row in found.rows} == running
    for side, (waiting, demand) in enumerate(zip(pair["waiting"], pair["demand"], strict=True)):
        for row in found.rows:
            verdict, name = (row.base, row.head)[side], row.workload.name
            what = f"pair {pair['seed']} ({pair['change']}) side {side} {name}: {verdict}"
            assert (verdict.fate is Fate.EVICTED) == (name in waiting), what
            assert not (verdict.fate in KEPT and name in demand), what
            yield verdict.fate


def test_sample_of_fates_matches_kueue() -> None:
    for pair in list(pairs())[::20]:
        list(check(pair))


@pytest.mark.slow
def test_all_fates_match_kueue() -> None:
    fates: Counter[Fate] = Counter()
    for pair in pairs():
        fates.update(check(pair))
    # Each comparison occurs.
    assert min(fates[fate] for fate in (Fate.SAFE, Fate.STUCK, Fate.ON_DEMAND, Fate.EVICTED)) >= 20, fates
