"""Random clusters: the core decides every pod, and every share, as the engine did, over all rounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apportion_runtime.cases.checking import checked
from apportion_runtime.cases.telling import rounds_document

LINES = (Path(__file__).parent / "clusters.jsonl").read_text(encoding="utf-8").splitlines()
CLUSTERS = [pytest.param(made, id=made["case"]["name"].partition(":")[0]) for made in map(json.loads, LINES)]


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_the_core_decides_as_the_engine(cluster: dict[str, Any]) -> None:
    expected = cluster["expected"]["rounds"]
    decided = rounds_document(checked(cluster["case"]), rounds=len(expected))["rounds"]
    assert [made["pods"] for made in decided] == [wanted["pods"] for wanted in expected]
    for made, wanted in zip(decided, expected, strict=True):
        # The engine adds shares up in the order of a map.
        assert made["queues"].keys() == wanted["queues"].keys()
        for name, share in wanted["queues"].items():
            assert made["queues"][name]["gpu_fair_share"] == pytest.approx(share["gpu_fair_share"])
