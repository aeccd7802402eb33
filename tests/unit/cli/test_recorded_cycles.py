"""`apportion simulate --record`: a cycle of the scheduler's decision log is replayed offline."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from apportion_runtime.core.cycle import cycle
from apportion_runtime.kube.cluster import key_of
from apportion_runtime.kube.decision_log_writer import DecisionLogWriter
from apportion_runtime.kube.object_store import ObjectStore
from apportion_runtime.snapshots.document import to_json
from apportion_runtime.snapshots.document_loader import LocatedObject
from apportion_runtime.snapshots.faults import ObjectLocation
from apportion_runtime.snapshots.kubernetes.reader import read_cluster

Run = Callable[..., Any]
NOW = 1_763_712_000.0


def _objects() -> list[dict[str, Any]]:
    free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    gpu = {"quota": 1, "limit": -1, "overQuotaWeight": 1}
    made: list[dict[str, Any]] = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n1", "labels": {}},
            "spec": {},
            "status": {
                "allocatable": {"cpu": "32", "memory": "256Gi", "nvidia.com/gpu": "1", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        },
        {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": "team"},
            "spec": {"resources": {"gpu": gpu, "cpu": free, "memory": free}},
        },
    ]
    for name in ("a", "b"):
        group = {"queue": "team", "minMember": 1}
        container = {"name": "main", "resources": {"requests": {"nvidia.com/gpu": "1"}}}
        metadata = {"name": name, "namespace": "team", "uid": f"uid-{name}"}
        made += [
            {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": metadata, "spec": group},
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {**metadata, "annotations": {"pod-group-name": name}},
                "spec": {"schedulerName": "kai-scheduler", "containers": [container]},
                "status": {"phase": "Pending"},
            },
        ]
    return made


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of two cycles, the second one ten seconds after the first."""
    path = tmp_path / "decisions.log"
    writer, store = DecisionLogWriter(path), ObjectStore()
    objects = _objects()
    for one in objects:
        store.put(one["kind"], key_of(one), one)
    for now in (NOW, NOW + 10):
        found = [LocatedObject(one, ObjectLocation(0, at)) for at, one in enumerate(objects)]
        read = read_cluster(found, [], now=now, shard=None)
        writer.record(store, now=now, shard=None, protected=(), session=cycle(read.snapshot, read.settings))
    return path


def test_recorded_cycle_prints_recorded_decisions(run: Run, log: Path) -> None:
    told = run("simulate", "--cycle", log, "--record", 2, "-o", "json")
    record = json.loads(log.read_text().splitlines()[1])
    assert (told.code, told.err) == (0, "")
    assert told.out == to_json(record["decisions"])
    assert [bind["pod"] for bind in record["decisions"]["binds"]] == ["a"]


def test_other_decisions_than_the_recorded_ones_are_reported(run: Run, log: Path) -> None:
    log.write_text(log.read_text().replace('"binds": [{', '"binds": [{"was": 1, '))
    told = run("simulate", "--cycle", log, "--record", 1)
    assert told.code == 1
    assert "made different decisions in cycle 1" in told.err
    assert "Bound" in told.out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--record", 3), 3, "does not contain cycle 3; the log contains cycles 1 to 2"),
        (("--record", 1, "--actions", "allocate"), 2, "--record requires a single --cycle LOG"),
    ],
)
def test_what_cannot_be_replayed_is_one_sentence(
    run: Run, log: Path, arguments: tuple[object, ...], code: int, said: str
) -> None:
    told = run("simulate", "--cycle", log, *arguments)
    assert told.code == code
    assert said in told.err


def test_log_without_a_cycle_asks_for_it(run: Run, log: Path) -> None:
    told = run("simulate", "--cycle", log)
    assert told.code == 2
    assert f"{log} is a decision log; choose a cycle with --record N" in told.err


def test_file_that_is_not_a_log_is_reported(run: Run, tmp_path: Path) -> None:
    other = tmp_path / "notes"
    other.write_text("shopping\n")
    told = run("simulate", "--cycle", other, "--record", 1)
    assert told.code == 3
    assert f"{other}:1: not a decision log record" in told.err


def test_decisions_are_those_of_a_snapshot_of_the_same_objects(run: Run, log: Path, tmp_path: Path) -> None:
    snapshot = tmp_path / "objects.json"
    snapshot.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": _objects()}))
    told = run("simulate", "--cycle", snapshot, "--now", "2025-11-21T08:00:00Z", "-o", "json")
    assert told.out == run("simulate", "--cycle", log, "--record", 1, "-o", "json").out
