"""The fates of running pods on plain Kubernetes against what kube-scheduler did: see native-fates/README.md."""

from __future__ import annotations

import gzip
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.unit.review.pod_objects import objects_of

from apportion_review.fates.native import native_fates
from apportion_review.fates.records import Fate, Workload

HERE = Path(__file__).parent / "native-fates"
KEPT = (Fate.SAFE, Fate.STUCK)
DIRECTIONS = {"cut", "grow", "move", "limit", "priority", "class", "preemptibility", "budget", "pool lost"}
Pair = Mapping[str, Any]


def pairs(name: str) -> Iterator[Pair]:
    """Yield each pair of a cluster and a change, and what kube-scheduler evicted on both sides."""
    with gzip.open(HERE / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def pod_of(workload: Workload) -> str:
    """Return the only pod of a workload."""
    return workload.name if workload.kind == "Pod" else f"{workload.name}-0"


def check(pair: Pair) -> Iterator[Fate]:
    """Compare a pair, and yield each fate of its head."""
    case = pair["case"]
    found = native_fates(*(list(objects_of(case, is_head=is_head)) for is_head in (False, True)), now=None)
    assert found.is_verified
    assert not found.why_incomplete
    lost = {f"{name}-0" for name, pod in case["pods"].items() if pod.get("node") in case["lost"]}
    for n in (0, 1):
        where = f"seed {pair['seed']} ({pair['direction']}) side {n}"
        outcomes = [{pod for wave in outcome for pod in wave} for outcome in pair["waiting"][n]]
        ever = set().union(*outcomes, pair["demand"][n])
        verdicts = {pod_of(row.workload): (row.base, row.head)[n] for row in found.rows}
        assert ever <= verdicts.keys(), where
        for name in lost if n else ():
            assert verdicts.pop(name).fate is Fate.EVICTED, f"{where} {name}"
        assert {name for name, verdict in verdicts.items() if verdict.fate is Fate.EVICTED} in outcomes, where
        unsafe = {name for name, verdict in verdicts.items() if verdict.fate in KEPT and name in ever}
        assert not unsafe, f"{where} {unsafe}"
        if n:
            yield from (verdict.fate for verdict in verdicts.values())


@pytest.mark.parametrize("name", ["pairs", "written"])
def test_fates_are_those_of_kube_scheduler(name: str) -> None:
    for pair in itertools.islice(pairs(name), 0, None, 12):
        list(check(pair))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pairs", "written"])
def test_all_fates_are_those_of_kube_scheduler(name: str) -> None:
    fates: Counter[Fate] = Counter()
    directions: Counter[str] = Counter()
    n_reclaimed = 0
    for pair in pairs(name):
        directions[pair["direction"]] += 1
        fates.update(check(pair))
        n_reclaimed += len(pair["demand"][1])
    assert directions.total() >= 100
    assert directions.keys() == DIRECTIONS
    # None of the comparisons is vacuous.
    assert min(fates[fate] for fate in (Fate.SAFE, Fate.ON_DEMAND, Fate.EVICTED)) >= 50, fates
    assert n_reclaimed >= 200
