"""Writes a decision log of 42 cycles on a node and a queue without pods, to the file named by the argument."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from apportion_runtime.core.cycle import cycle
from apportion_runtime.kube.cluster import key_of
from apportion_runtime.kube.decision_log_writer import DecisionLogWriter
from apportion_runtime.kube.object_store import ObjectStore
from apportion_runtime.snapshots.document_loader import LocatedObject
from apportion_runtime.snapshots.faults import ObjectLocation
from apportion_runtime.snapshots.kubernetes.reader import read_cluster

_FREE = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
_ALLOCATABLE = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "8", "pods": "110"}
_NOW = 1_763_712_000.0
OBJECTS: list[dict[str, Any]] = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1", "labels": {}},
        "spec": {},
        "status": {"allocatable": _ALLOCATABLE, "conditions": [{"type": "Ready", "status": "True"}]},
    },
    {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "research"},
        "spec": {"resources": {"gpu": _FREE, "cpu": _FREE, "memory": _FREE}},
    },
]

writer, store = DecisionLogWriter(Path(sys.argv[1])), ObjectStore()
for one in OBJECTS:
    store.put(one["kind"], key_of(one), one)
for number in range(42):
    found = [LocatedObject(one, ObjectLocation(0, at)) for at, one in enumerate(OBJECTS)]
    read = read_cluster(found, [], now=_NOW + number, shard=None)
    session = cycle(read.snapshot, read.settings)
    writer.record(store, now=_NOW + number, shard=None, protected=(), session=session)
