"""The cost of reviewing a change: a cluster with thousands of running workloads, with and without a snapshot."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

import pytest

from apportion_cli.exit_codes import ExitCode

from .conftest import BenchSize
from .organisation import write_organisation
from .process import run
from .running_cluster import write_cluster

pytestmark = pytest.mark.bench

APPORTION = [str(Path(sys.executable).with_name("apportion"))]
ENGINES = {"kueue": "0.18.3", "kai": "0.17.0"}
ROUNDS = 3
WALL_S = 5
LOAD_WALL_S = 60


@pytest.mark.parametrize("engine", ENGINES)
def test_review_of_500_queues_and_5000_workloads(tmp_path: Path, engine: str, bench_size: BenchSize) -> None:
    """Every limit changes, so that every running workload is evaluated on both sides."""
    clusters = ((engine, engine, ENGINES[engine]),)
    leaves, n_workloads = (480, 5_000) if bench_size.judged else (48, 500)
    base = write_organisation(tmp_path / "base", departments=leaves // 24, leaves=leaves, pools=10, clusters=clusters)
    head = write_organisation(tmp_path / "head", departments=leaves // 24, leaves=leaves, pools=10, clusters=clusters)
    head.write_text(head.read_text().replace("gpu=8)", "gpu=7)"))
    queues = [f"team-{department:04d}-{number:02d}" for department in range(leaves // 24) for number in range(24)]
    write_cluster(tmp_path / "cluster.json", engine, queues, n_workloads)
    review = [*APPORTION, "review", str(base), str(head), "-o", "md"]
    with_snapshot = [*review, "--snapshot", str(tmp_path / "cluster.json")]
    for command in (review, with_snapshot):
        assert run(command).returncode == ExitCode.CHANGES
    without, wall = (median(run(command).wall_s for _ in range(ROUNDS)) for command in (review, with_snapshot))
    print(f"\n{engine}: review of {leaves + leaves // 24} queues: {without:.2f} s")
    print(
        f"{engine}: review of {leaves + leaves // 24} queues, {n_workloads} running workloads: {wall:.2f} s (at most {WALL_S})"
    )
    if bench_size.judged:
        assert wall <= WALL_S


def _day(file: Path, queues: list[str], n_nodes: int) -> None:
    """Write a scenario: three jobs of eight GPUs from each queue, arriving within a day and taking five to seven hours."""
    jobs = [
        f"  - {{name: {queue}, kind: Job, namespace: {queue}, queue: {queue}, pods: 1, gpus: 8, cpu: 16, memory: 64Gi, "
        f"at: {5 * (number % 90)}m, count: 3, every: 8h, duration: {300 + number % 120}m, "
        "tolerations: [{key: nvidia.com/gpu, operator: Exists}]}"
        for number, queue in enumerate(queues)
    ]
    nodes = f"nodes: [{{policy_pool: pool-00, count: {n_nodes}}}]"
    file.write_text("\n".join([nodes, "workloads:", *jobs]) + "\n")


def test_comparison_of_a_day(tmp_path: Path, bench_size: BenchSize) -> None:
    """Every weight changes; a day's jobs request about 90 % of the GPUs on average."""
    leaves = 480 if bench_size.judged else 48
    base = write_organisation(tmp_path / "base", departments=leaves // 24, leaves=leaves, pools=10)
    head = write_organisation(tmp_path / "head", departments=leaves // 24, leaves=leaves, pools=10)
    head.write_text(head.read_text().replace("1 + number % 3", "3 - number % 3"))
    queues = [f"team-{department:04d}-{number:02d}" for department in range(leaves // 24) for number in range(24)]
    _day(tmp_path / "day.yaml", queues, leaves * 5 // 6)
    command = [*APPORTION, "review", str(base), str(head), "-o", "md", "--scenario", str(tmp_path / "day.yaml")]
    finished = run(command)
    assert finished.returncode == ExitCode.CHANGES
    print(
        f"\nA/B of a day: {3 * leaves:,} jobs, {leaves * 5 // 6} nodes: {finished.wall_s:.1f} s (at most {LOAD_WALL_S})"
    )
    if bench_size.judged:
        assert finished.wall_s <= LOAD_WALL_S
