"""Random clusters: the status of pod groups and queues is that of KAI's own controllers, see kai-status/README.md."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from apportion_runtime.kube.cluster import key_of
from apportion_runtime.kube.object_store import ObjectStore
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
    store, updates = ObjectStore(), StatusUpdates()
    for made in case["objects"]:
        store.put(made["kind"], key_of(made), made)
    for update in list(updates.of(store.changes(updates))):
        key = (update.namespace, update.name)
        before = store.of(update.kind)[key]
        store.put(update.kind, key, {**before, "status": merged(before.get("status") or {}, update.status)})
    status = {(made["kind"], made["metadata"]["name"]): made.get("status") or {} for made in store.objects()}
    groups = {name: made.get("resourcesStatus") or {} for (kind, name), made in status.items() if kind == "PodGroup"}
    queues = {name: made for (kind, name), made in status.items() if kind == "Queue"}
    assert {"groups": groups, "queues": queues} == case["expected"]
    assert list(updates.of(store.changes(updates))) == []
