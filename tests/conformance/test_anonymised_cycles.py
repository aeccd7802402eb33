"""Clusters that KAI Scheduler decided: a cycle decides on the anonymised snapshot as on the original."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from tests.unit.review.kai_objects import SNAPSHOT_S, START, objects_of

from apportion_runtime.core.cycle import cycle
from apportion_runtime.snapshots.anonymisation import anonymised
from apportion_runtime.snapshots.document_loader import LocatedObject
from apportion_runtime.snapshots.faults import ObjectLocation
from apportion_runtime.snapshots.kubernetes.reader import read_cluster

PAIRS = Path(__file__).parent / "kai-fates/pairs.jsonl.gz"


def _decided(objects: list[dict[str, Any]]) -> tuple[list[tuple[int, int]], list[int]]:
    """Return binds (pod and node) and evictions, each by the position of the name among all."""
    located = [LocatedObject(made, ObjectLocation(0, 0)) for made in objects]
    cluster = read_cluster(located, [], now=START + SNAPSHOT_S, shard=None)
    session = cycle(cluster.snapshot, cluster.settings)
    pods = sorted((pod.namespace, pod.name) for pod in cluster.snapshot.pods)
    nodes = sorted(session.nodes.names)
    at = {name: number for number, name in enumerate(pods)}
    binds = [
        (at[task.pod.namespace, task.pod.name], nodes.index(session.nodes.names[task.node]))
        for task in session.decided.binds
    ]
    evicted = [at[task.pod.namespace, task.pod.name] for task, _, _ in session.decided.evictions]
    return sorted(binds), sorted(evicted)


def test_cycle_on_anonymised_snapshot_has_same_decisions() -> None:
    with gzip.open(PAIRS, "rt", encoding="utf-8") as lines:
        pairs = [json.loads(line) for line in lines][:200]
    decisions = []
    for pair in pairs:
        objects = [dict(made) for made in objects_of(pair["cluster"])]
        original = _decided(objects)
        assert _decided(anonymised(objects)) == original
        decisions.append(original)
    assert sum(bool(binds) for binds, _ in decisions) > 40
    assert sum(bool(evicted) for _, evicted in decisions) > 5
