"""The simulated cluster at full size under each engine, and the openb trace several ways. `make bench` prints what each run costs.

The openb trace is not part of this repository: APPORTION_OPENB names the folder with its lists, and without it those
benchmarks run on lists of the same form that are made up, and judge nothing.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.engine_lists import engines_except

from .conftest import BenchSize
from .process import run

pytestmark = pytest.mark.bench

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
OPENB = os.environ.get("APPORTION_OPENB", "")
NODES, PODS = "openb_node_list_all_node.csv", "openb_pod_list_default.csv"
OTHER_PODS = {"unfit": "openb_pod_list_gpuspec33.csv"}
"""In this list, one job fits on no node of the GPU model that it selects."""
MOST_CPU_S, MOST_MIB = 60.0, 1024.0
MOST_CPU_S_OF = {"full": 240.0}
SMALLER = {"volcano": (400, 40, 10), "koordinator": (200, 20, 4)}
"""The workloads, nodes and queues with which a full cluster is measured under engines that take longer."""
WAYS = {
    "recorded": ("--env", "whole"),
    "inflated": ("--env", "whole", "--trace-inflate", "1"),
    "hundredth": ("--env", "hundredth", "--trace-nodes", "0.01", "--trace-seed", "1"),
    "compressed": ("--env", "busy", "--trace-nodes", "0.01", "--trace-load", "0.8", "--trace-seed", "1"),
    "crowded": ("--env", "busy", "--trace-nodes", "0.01", "--trace-load", "0.9", "--trace-seed", "1"),
    "full": ("--env", "busy", "--trace-nodes", "0.01", "--trace-load", "1.0", "--trace-seed", "1"),
    "unfit": ("--env", "whole"),
}


def test_many_workloads(bench_size: BenchSize) -> None:
    """10,000 workloads on 1,000 nodes with 100 queues."""
    size = (10_000, 1_000, 100) if bench_size.judged else (100, 10, 5)
    cost = _json(sys.executable, str(FOLDER / "simulation_run.py"), *map(str, size))
    print(
        f"\n{size[0]:,} workloads, {size[1]:,} nodes, {size[2]} queues: {cost['cpu_s']:.1f} s, {cost['peak_mib']:.0f} MiB, "
        f"{cost['n_events']:,} events, {cost['n_cycles']:,} cycles, {cost['n_evicted']:,} pods evicted"
    )
    assert cost["faults"] == []
    assert cost["n_succeeded"] == size[0]
    if bench_size.judged:
        assert cost["cpu_s"] <= MOST_CPU_S
        assert cost["peak_mib"] <= MOST_MIB


@pytest.mark.parametrize("load", ["0.7", "1.1"])
@pytest.mark.parametrize("engine", engines_except(kai="test_many_workloads measures it"))
def test_other_engines(engine: str, load: str, bench_size: BenchSize) -> None:
    """1,000 workloads on 100 nodes with 20 queues, under each engine except KAI Scheduler.

    One load fits, and one exceeds the capacity, which is smaller for Volcano and Koordinator.
    """
    size = SMALLER.get(engine, (1_000, 100, 20)) if load == "1.1" else (1_000, 100, 20)
    size = size if bench_size.judged else (40, 4, 4)
    cost = _json(sys.executable, str(FOLDER / "simulation_run.py"), *map(str, size), engine, load)
    print(
        f"\n{engine} at {load}: {cost['cpu_s']:.1f} s, {cost['peak_mib']:.0f} MiB, {cost['n_events']:,} events, "
        f"{cost['n_cycles']:,} cycles, {cost['n_evicted']:,} pods evicted"
    )
    assert cost["faults"] == []
    assert cost["n_succeeded"] <= size[0]
    if bench_size.judged:
        assert cost["cpu_s"] <= MOST_CPU_S


@pytest.mark.parametrize("way", WAYS)
def test_openb(way: str, bench_size: BenchSize, tmp_path: Path) -> None:
    """Every pod is accounted for, and the same input gives the same bytes."""
    is_real = bool(OPENB) and bench_size.judged
    list_of_pods = OTHER_PODS.get(way, PODS)
    if is_real and not (Path(OPENB) / list_of_pods).exists():
        pytest.skip(f"APPORTION_OPENB has no {list_of_pods}")
    folder = Path(OPENB) if is_real else _made_up(tmp_path)
    arguments = [*WAYS[way]] if is_real else [each if each != "0.01" else "0.5" for each in WAYS[way]]
    command = (
        sys.executable, "-m", "apportion_cli.main", "simulate", str(ROOT / "examples/openb"), "--as-of", "2026-11-22",
        "--trace", f"openb:{folder / NODES},{folder / list_of_pods}", *arguments,
    )  # fmt: skip
    files = [tmp_path / f"{number}.json" for number in range(2)]
    costs = [run((*command, "-o", f"json={file}")) for file in files]
    assert [cost.returncode for cost in costs] == [0, 0]
    assert files[0].read_bytes() == files[1].read_bytes()
    report = json.loads(files[0].read_bytes())
    print(f"\nopenb {way}: {min(cost.cpu_s for cost in costs):.1f} s, {report['n_workloads']:,} jobs")
    assert sum(report["outcomes"].values()) == report["n_workloads"] > 0
    if is_real:
        assert min(cost.cpu_s for cost in costs) <= MOST_CPU_S_OF.get(way, MOST_CPU_S)


def _json(*command: str) -> dict[str, Any]:
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(finished.stdout)
    return found


def _made_up(folder: Path) -> Path:
    rng = random.Random(1)
    nodes = ["sn,cpu_milli,memory_mib,gpu,model"]
    nodes += [f"n-{i},96000,393216,{8 if i % 2 else 2},{'G2' if i % 2 else 'T4'}" for i in range(8)]
    pods = [
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
    ]
    for i in range(120):
        gpus, milli = rng.choice(((1, 1000), (1, 460), (2, 1000), (0, 0)))
        at, qos = 60 * i, rng.choice(("LS", "LS", "Burstable", "BE"))
        pods.append(f"p-{i},4000,8192,{gpus},{milli},,{qos},Succeeded,{at},{at + rng.randint(600, 6000)},{at}")
    (folder / NODES).write_text("\n".join(nodes) + "\n")
    for name in (PODS, *OTHER_PODS.values()):
        (folder / name).write_text("\n".join(pods) + "\n")
    return folder
