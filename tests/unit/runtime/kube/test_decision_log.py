"""The decision log: every recorded cycle is replayed byte for byte, and its files are bounded."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from apportion_runtime.kube.decision_log_writer import DecisionLogWriter
from apportion_runtime.kube.errors import Origin, Refused
from apportion_runtime.kube.scheduler import Scheduling, run_cycle
from apportion_runtime.kube.write_pool import WritePool
from apportion_runtime.snapshots.decision_log import DecisionLogError, recorded_cycle, replayed
from apportion_runtime.snapshots.decisions import decisions_document
from apportion_runtime.snapshots.document import to_json

from .memory_cluster import Memory
from .objects import NOW, TRAIN, TREE, node, pod, pod_group
from .sharing_pods import report_devices, sharing, sharing_cluster


class _Recorded:
    """A scheduler on a cluster in memory that records its cycles."""

    def __init__(self, cluster: Memory, writer: DecisionLogWriter) -> None:
        self.cluster, self.writer, self.now = cluster, writer, NOW

    def cycle(self) -> None:
        held = self.cluster
        pool = WritePool(1, held.failures.append)
        scheduling = Scheduling(
            held,
            pool,
            rejections=held.rejections,
            reasons=held.reasons,
            statuses=held.statuses,
            records=held.records,
            reservations=held.reservations,
            log=self.writer,
        )
        try:
            run_cycle(scheduling, self.now)
        finally:
            pool.stop()
        self.now += 7.25


def _cluster() -> Memory:
    return Memory(node("n1", 4), node("n2", 4), TRAIN, *TREE)


def _churn(cluster: Memory, generator: random.Random, step: int) -> None:
    """Create pods and gangs, end one that runs, and protect one from eviction."""
    queue = generator.choice(["vision", "nlp"])
    if generator.random() < 0.3:
        cluster.create(pod_group(f"gang-{step}", queue, 2))
        for member in "ab":
            cluster.create(pod(f"g{step}{member}", queue, 1, **{"pod-group-name": f"gang-{step}"}))
    else:
        cluster.create(pod(f"p{step}", queue, generator.randint(0, 3)))
    running = [name for kind, _, name in cluster.held if kind == "Pod" and cluster.node_of(name) is not None]
    if running and generator.random() < 0.5:
        del cluster.held["Pod", "team", generator.choice(running)]
    elif running:
        refused = Refused(429, "Cannot evict pod: disruption budget", origin=Origin.BUDGET)
        cluster.keeps = {generator.choice(running): refused}


def _is_replayed(log: Path, number: int) -> bool:
    with log.open(encoding="utf-8") as lines:
        recorded = recorded_cycle(lines, number, log.name)
    return to_json(decisions_document(replayed(recorded))) == to_json(recorded.decisions)


@pytest.mark.parametrize("seed", range(6))
def test_every_cycle_is_replayed_byte_for_byte(tmp_path: Path, seed: int) -> None:
    log, generator = tmp_path / "log", random.Random(seed)
    scheduler = _Recorded(_cluster(), DecisionLogWriter(log))
    for step in range(15):
        _churn(scheduler.cluster, generator, step)
        scheduler.cycle()
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert [record["cycle"] for record in records] == list(range(1, 16))
    assert [record["full"] for record in records] == [True, *[False] * 14]
    assert any(record["decisions"]["binds"] for record in records)
    assert [number for number in range(1, 16) if not _is_replayed(log, number)] == []


def test_decisions_of_all_kinds_are_recorded_and_replayed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    cluster = Memory(node("n1", 4), TRAIN, *TREE, pod("b1", "nlp", 2), pod("b2", "nlp", 2))
    scheduler = _Recorded(cluster, DecisionLogWriter(log))
    scheduler.cycle()
    # A budget protects both victims, which the second cycle learns and the third one takes into account.
    cluster.keeps = dict.fromkeys(
        ("b1", "b2"), Refused(429, "Cannot evict pod: disruption budget", origin=Origin.BUDGET)
    )
    cluster.create(pod("mine", "vision", 2))
    for _ in range(3):
        scheduler.cycle()
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert [len(record["protected"]) for record in records] == [0, 0, 1, 2]
    assert [len(record["decisions"]["evictions"]) for record in records] == [0, 1, 1, 0]
    assert all(_is_replayed(log, number) for number in range(1, 5))


def test_cycles_with_shared_gpus_are_replayed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    cluster = sharing_cluster(sharing("a"), sharing("b", **{"gpu-fraction-num-devices": "2"}))
    scheduler = _Recorded(cluster, DecisionLogWriter(log))
    scheduler.cycle()
    # The second cycle regards the pods as bound, which wait for their devices.
    cluster.create(sharing("c"))
    scheduler.cycle()
    report_devices(cluster)
    scheduler.cycle()
    assert {cluster.node_of(name) for name in "abc"} == {"n1"}
    assert all(_is_replayed(log, number) for number in range(1, 4))


def test_unchanged_object_is_recorded_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    scheduler = _Recorded(_cluster(), DecisionLogWriter(log))
    scheduler.cycle()
    scheduler.cycle()
    # The first cycle of a queue writes its status.
    third = len(log.read_text().splitlines())
    scheduler.cycle()
    assert json.loads(log.read_text().splitlines()[third])["objects"] == []


def test_files_are_bounded_in_size_and_number(tmp_path: Path) -> None:
    log = tmp_path / "log"
    scheduler = _Recorded(_cluster(), DecisionLogWriter(log, most_bytes=20_000, most_files=3))
    for step in range(40):
        _churn(scheduler.cluster, random.Random(step), step)
        scheduler.cycle()
    files = sorted(file.name for file in tmp_path.iterdir())
    assert files == ["log", "log.1", "log.2"]
    first = [json.loads((tmp_path / name).read_text().splitlines()[0]) for name in files]
    assert [record["full"] for record in first] == [True] * 3
    for name in files:
        lines = (tmp_path / name).read_text().splitlines(keepends=True)
        assert sum(len(line.encode()) for line in lines[:-1]) < 20_000
        assert all(_is_replayed(tmp_path / name, json.loads(line)["cycle"]) for line in lines)


def test_numbering_continues_after_restart_and_incomplete_record(tmp_path: Path) -> None:
    log = tmp_path / "log"
    scheduler = _Recorded(_cluster(), DecisionLogWriter(log))
    scheduler.cycle()
    with log.open("a") as file:
        file.write('{"cycle": 2, "version": "0')
    restarted = _Recorded(scheduler.cluster, DecisionLogWriter(log))
    restarted.cycle()
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(record["cycle"], record["full"]) for record in records] == [(1, True), (2, True)]
    assert _is_replayed(log, 2)


def test_failed_write_does_not_stop_the_scheduler(tmp_path: Path) -> None:
    log = tmp_path / "missing" / "log"
    writer = DecisionLogWriter(log)
    scheduler = _Recorded(Memory(node("n1", 4), TRAIN, *TREE, pod("a", "vision", 1)), writer)
    scheduler.cycle()
    assert scheduler.cluster.node_of("a") == "n1"
    assert writer.fault == f"{log}: No such file or directory"
    log.parent.mkdir()
    scheduler.cycle()
    assert scheduler.writer.fault is None
    assert _is_replayed(log, 1)


def test_another_file_is_not_overwritten(tmp_path: Path) -> None:
    other = tmp_path / "notes"
    other.write_text("shopping\n")
    with pytest.raises(DecisionLogError, match="notes:1: not a decision log record; choose another file"):
        DecisionLogWriter(other)
    assert other.read_text() == "shopping\n"


def test_device_is_not_read_without_end() -> None:
    with pytest.raises(DecisionLogError, match="/dev/zero is not a regular file; choose another file"):
        DecisionLogWriter(Path("/dev/zero"))


def test_missing_cycle_is_reported(tmp_path: Path) -> None:
    log = tmp_path / "log"
    scheduler = _Recorded(_cluster(), DecisionLogWriter(log))
    scheduler.cycle()
    scheduler.cycle()
    with pytest.raises(DecisionLogError) as told:
        recorded_cycle(log.read_text().splitlines(), 9, "log")
    assert str(told.value) == "log does not contain cycle 9; the log contains cycles 1 to 2"


def test_directory_is_refused_with_a_file_in_it(tmp_path: Path) -> None:
    with pytest.raises(DecisionLogError) as told:
        DecisionLogWriter(tmp_path)
    assert str(told.value) == f"{tmp_path} is a directory; add a file name, as in {tmp_path}/decisions.log"
