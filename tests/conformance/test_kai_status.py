"""Random clusters: the status of pod groups and queues is that of KAI's own controllers, see kai-status/README.md."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from apportion_runtime.kube.status_updates import StatusUpdates

DATA = Path(__file__).parent / "kai-status" / "cases.jsonl.gz"


def cases() -> list[dict[str, Any]]:
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def merged(before: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    made = {key: value for key, value in before.items() if key not in patch or patch[key] is not None}
    for key, value in patch.items():
        if isinstance(value, Mapping):
            made[key] = merged(made.get(key) or {}, value)
        elif value is not None:
            made[key] = value
    return {key: value for key, value in made.items() if value}


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_status_matches_the_engine(case: dict[str, Any]) -> None:
    objects = {(made["kind"], made["metadata"]["name"]): made for made in case["objects"]}
    updates = StatusUpdates()
    for update in list(updates.of(list(objects.values()))):
        before = objects[update.kind, update.name]
        objects[update.kind, update.name] = {**before, "status": merged(before.get("status") or {}, update.status)}
    status = {key: made.get("status") or {} for key, made in objects.items()}
    groups = {name: made.get("resourcesStatus") or {} for (kind, name), made in status.items() if kind == "PodGroup"}
    queues = {name: made for (kind, name), made in status.items() if kind == "Queue"}
    assert {"groups": groups, "queues": queues} == case["expected"]
    assert list(updates.of(list(objects.values()))) == []
