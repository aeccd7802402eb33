"""Random clusters: the core decides every pod and share like the engine, over all rounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apportion_runtime.cases.case_checks import checked
from apportion_runtime.cases.case_outcome import rounds_document
from apportion_runtime.cases.rounds import run_rounds

LINES = (Path(__file__).parent / "clusters.jsonl").read_text(encoding="utf-8").splitlines()
CLUSTERS = [pytest.param(made, id=made["case"]["name"].partition(":")[0]) for made in map(json.loads, LINES)]


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_decisions_match_the_engine(cluster: dict[str, Any]) -> None:
    expected = cluster["expected"]["rounds"]
    decided = rounds_document(checked(cluster["case"]), rounds=len(expected))["rounds"]
    assert [made["pods"] for made in decided] == [wanted["pods"] for wanted in expected]
    for made, wanted in zip(decided, expected, strict=True):
        # The engine sums shares in map order.
        assert made["queues"].keys() == wanted["queues"].keys()
        for name, share in wanted["queues"].items():
            assert made["queues"][name]["gpu_fair_share"] == pytest.approx(share["gpu_fair_share"])


def test_repeated_victim_is_evicted_once() -> None:
    chosen_again = 0
    for cluster in (json.loads(line) for line in LINES if '"promised twice' in line or "seed 1484" in line):
        session, _ = next(run_rounds(checked(cluster["case"])))
        chosen = [uid for taking in session.decided.eviction_sets for uid in taking.evicted]
        chosen_again += len(chosen) - len(set(chosen))
        left = {task.uid: node for task, node, _ in session.decided.evictions}
        assert len(left) == len(session.decided.evictions)
        stood = {pod.uid: session.nodes.index[pod.node] for pod in session.snapshot.pods if pod.node}
        assert all(node == stood.get(uid, node) for uid, node in left.items())
    assert chosen_again
