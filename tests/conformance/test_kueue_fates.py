"""The fates of running work under Kueue against what its real scheduler did: see kueue-fates/README.md."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.unit.review.kueue_objects import objects_of

from apportion_review.fates.kueue import kueue_fates
from apportion_review.fates.records import Fate

HERE = Path(__file__).parent / "kueue-fates"
KEPT = (Fate.SAFE, Fate.STUCK)


def lines(name: str) -> Iterator[Any]:
    """Yield the documents of a file."""
    with gzip.open(HERE / name, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def changed(cluster: Mapping[str, Any], edit: Mapping[str, Any]) -> dict[str, Any]:
    """Return a cluster after an edit: null removes a field."""
    made = dict(cluster)
    for key, value in edit.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = changed(made.get(key, {}), value) if isinstance(value, Mapping) else value
    return made


@cache
def clusters() -> Mapping[int, dict[str, Any]]:
    """Return the clusters by seed."""
    return {line["seed"]: line["cluster"] for line in lines("bases.jsonl.gz")}


def compared(pair: Mapping[str, Any]) -> Iterator[tuple[str, Fate, bool, bool]]:
    """Yield each running workload with its fate in the head, and whether Kueue evicted it for stated or any demand."""
    base = clusters()[pair["base"]]
    head = changed(base, pair["edit"])
    found = kueue_fates(list(objects_of(base)), list(objects_of(head)), now=None)
    outcome = pair["outcome"]
    stated, everyone = ({name for name, _ in outcome[demand]} for demand in ("stated", "everyone"))
    for row in found.rows:
        name = row.workload.name
        yield name, row.head.fate, name in stated, name in everyone


def check(step: int) -> tuple[int, int, int]:
    """Compare each nth pair; return the workloads that were never evicted, those of them that are safe, and the pairs."""
    n_never = n_kept = n_pairs = 0
    for pair in list(lines("pairs.jsonl.gz"))[::step]:
        n_pairs += 1
        for name, fate, is_stated, is_ever in compared(pair):
            what = f"pair {pair['number']} ({pair['change']}) {name}: {fate.value}"
            assert not (fate in KEPT and (is_stated or is_ever)), what
            assert (fate is Fate.EVICTED) == is_stated, what
            if not (is_stated or is_ever):
                n_never += 1
                n_kept += fate in KEPT
    return n_never, n_kept, n_pairs


def test_sample_of_fates_matches_kueue() -> None:
    check(48)


@pytest.mark.slow
def test_all_fates_match_kueue() -> None:
    n_never, n_kept, n_pairs = check(1)
    assert n_pairs >= 300
    assert n_kept >= 0.4 * n_never, (n_kept, n_never)
