"""Lists of jobs in the form of PAI's simulator, simulated by Apportion and by that simulator.

APPORTION_PAI_SIMULATOR names the folder `cluster-trace-gpu-v2020/simulator` of a checkout of alibaba/clusterdata, which is
not part of this repository. Its lists of jobs are stored in Git LFS, so `pai_jobs.py` makes up jobs of their distribution.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from . import pai_jobs
from .conftest import BenchSize
from .process import run

pytestmark = pytest.mark.bench

SIMULATOR = os.environ.get("APPORTION_PAI_SIMULATOR", "")
needs_simulator = pytest.mark.skipif(
    not SIMULATOR, reason="set APPORTION_PAI_SIMULATOR to cluster-trace-gpu-v2020/simulator of alibaba/clusterdata"
)
N_NODES, GPUS, CPUS = 813, 8, 96
"""As many nodes as have the 6,500 GPUs of the simulator's published log; its default node has 8 GPUs and 96 cores."""
MOST_MIB = 1024.0
MOST_SIMULATOR_S = float(os.environ.get("APPORTION_PAI_SECONDS", "900"))
"""CPU seconds after which PAI's simulator is stopped: with more jobs than fit, it tries every waiting job each second."""


@pytest.mark.parametrize("n_jobs", [20_000, 100_000])
def test_pai_jobs(n_jobs: int, bench_size: BenchSize, tmp_path: Path) -> None:
    """All jobs end."""
    n_jobs, n_nodes = _size(n_jobs, bench_size)
    found = _simulated(tmp_path, n_jobs, n_nodes)
    assert found["outcomes"] == {"succeeded": n_jobs}
    if bench_size.judged:
        assert found["peak_mib"] <= MOST_MIB


@needs_simulator
@pytest.mark.parametrize("n_jobs", [20_000, 100_000])
def test_beside_pai_simulator(n_jobs: int, bench_size: BenchSize, tmp_path: Path) -> None:
    """Both simulate the same jobs at the same arrival times, on as many GPUs and cores; neither evicts or moves a job.

    PAI's simulator merges all nodes into one, as in its published log.
    """
    n_jobs, n_nodes = _size(n_jobs, bench_size)
    _simulated(tmp_path, n_jobs, n_nodes)
    script = Path(__file__).with_name("pai_simulator_run.py")
    command = (
        sys.executable,
        str(script),
        SIMULATOR,
        str(tmp_path / "jobs.csv"),
        f"1:{n_nodes}",
        str(MOST_SIMULATOR_S),
    )
    theirs = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    print(
        f"PAI's simulator: {theirs['cpu_s']:.1f} s, {theirs['peak_mib']:.0f} MiB, {theirs['n_jobs']:,} jobs in "
        f"{theirs['until_s']:,} s, JCT {theirs['job_jct_s']:,.0f} s, wait {theirs['job_wait_s']:,.0f} s, "
        f"{theirs['n_waited']:,} waited; it reports {theirs['n_done']:,} done, JCT {theirs['jct_s']:,.2f}, "
        f"wait {theirs['wait_s']:,.2f}"
    )
    if theirs["is_finished"]:
        assert theirs["n_jobs"] == n_jobs


def _size(n_jobs: int, bench_size: BenchSize) -> tuple[int, int]:
    return (n_jobs, N_NODES) if bench_size.judged else (200, 4)


def _simulated(folder: Path, n_jobs: int, n_nodes: int) -> dict[str, Any]:
    """Simulate the jobs under KAI Scheduler with a single queue, where it only allocates, and return what it reports."""
    jobs, report = folder / "jobs.csv", folder / "report.json"
    jobs.write_text("\n".join(pai_jobs.rows(n_jobs)) + "\n")
    queues = [_queue("org", {}), _queue("training", {"parentQueue": "org"})]
    (folder / "queues.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": queues}))
    (folder / "nodes.yaml").write_text(
        f"nodes: [{{pool: gpu, count: {n_nodes}, gpus: {GPUS}, cpu: {CPUS}}}]\n"
        "objects: [{apiVersion: v1, kind: EngineConfiguration, metadata: {name: allocate}, config: {actions: allocate}}]\n"
    )
    cost = run(
        (
            sys.executable, "-m", "apportion_cli.main", "simulate", str(folder / "queues.json"),
            "--trace", f"pai:{jobs}", "--scenario", str(folder / "nodes.yaml"), "-o", f"json={report}",
        )
    )  # fmt: skip
    assert cost.returncode == 0
    found: dict[str, Any] = json.loads(report.read_bytes())
    works = found["workloads"]
    waits_s = [work["started_s"] - work["arrived_s"] for work in works]
    jct_s = sum(work["finished_s"] - work["arrived_s"] for work in works) / len(works)
    print(
        f"\nApportion: {cost.cpu_s:.1f} s, {cost.peak_mib:.0f} MiB, {len(works):,} jobs in {found['makespan_s']:,.0f} s, "
        f"JCT {jct_s:,.0f} s, wait {sum(waits_s) / len(works):,.0f} s, {sum(wait > 0 for wait in waits_s):,} waited"
    )
    return {"outcomes": found["outcomes"], "peak_mib": cost.peak_mib}


def _queue(name: str, parent: dict[str, str]) -> dict[str, Any]:
    free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    spec = {"resources": dict.fromkeys(("cpu", "memory", "gpu"), free), **parent}
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}
