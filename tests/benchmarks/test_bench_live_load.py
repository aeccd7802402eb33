"""The live scheduler under load: its cycles on full clusters, and throughput and latency beside kube-scheduler.

The benchmarks on a real API server use what `make bench` does not provide:

* APPORTION_E2E_BIN: the directory of the control plane and kube-scheduler that `make e2e` builds, below ~/.cache/apportion-e2e,
  and with which it runs one of them on small input.
* APPORTION_KAI (optional): a directory with the programs `scheduler`, `binder` and `podgrouper` of KAI Scheduler.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import quantiles

import pytest

from ..e2e.processes import running
from .conftest import BenchSize
from .live_objects import PODS, gangs, nodes, pod, setting
from .live_server import (
    Command,
    Server,
    apportion_commands,
    install_definitions,
    kai_commands,
    kube_scheduler_commands,
    pods_per_second,
    serving,
)
from .process import cpu_of_children_s, cpu_s, memory_mib

pytestmark = pytest.mark.bench

BINARIES = os.environ.get("APPORTION_E2E_BIN", "")
KAI_BINARIES = os.environ.get("APPORTION_KAI", "")
needs_servers = pytest.mark.skipif(
    not BINARIES,
    reason="set APPORTION_E2E_BIN to the control plane that `make e2e` builds (~/.cache/apportion-e2e/kubernetes-…)",
)
OURS = "apportion scheduler"
KAI = "KAI"
MOST_MIB, MOST_IDLE, MOST_P99_MS, LEAST_RATIO = 600.0, 0.01, 150.0, 2.0
_LONE_PODS, _IDLE_S, _SETTLED_S = 100, 20.0, 300
_MOST_S, _MOST_KAI_S = 1800, 600
"""The time in which the pods must be bound, and the time for which KAI Scheduler runs if it binds fewer."""


@pytest.mark.parametrize(("n_nodes", "n_pods"), [(1_000, 8_000), (5_000, 40_000)])
def test_cycles_and_memory(n_nodes: int, n_pods: int, bench_size: BenchSize) -> None:
    """A full cluster is listed, and pods are added one by one; nothing is written."""
    size = (n_nodes, n_pods) if bench_size.judged else (20, 160)
    script = Path(__file__).with_name("live_cache_run.py")
    done = subprocess.run([sys.executable, str(script), *map(str, size)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    cost = json.loads(done.stdout)
    print(
        f"\n{size[0]:,} nodes, {size[1]:,} running pods: first cycle {cost['first_s']:.2f} s, without changes "
        f"{1000 * cost['idle_s']:.0f} ms, one more pod {1000 * cost['lone_s']:.0f} ms of CPU, peak {cost['peak_mib']:.0f} MiB"
    )
    if bench_size.judged:
        assert cost["peak_mib"] <= MOST_MIB


@needs_servers
@pytest.mark.parametrize(("n_nodes", "n_pods"), [(1_000, 10_000), (5_000, 50_000)])
def test_beside_kube_scheduler(n_nodes: int, n_pods: int, bench_size: BenchSize, tmp_path: Path) -> None:
    """Both bind the same pending gangs, each on a copy of the same data, and then single pods."""
    size = (n_nodes, n_pods) if bench_size.judged else (20, 160)
    data = tmp_path / "data"
    with serving(Path(BINARIES), tmp_path / "seed") as server:
        install_definitions(server)
        for one in setting():
            server.create((one,))
        # Pods are rejected before the namespace has its account.
        time.sleep(2)
        server.create(tuple(nodes(size[0])))
        server.create(tuple(gangs(size[1])))
    shutil.move(tmp_path / "seed" / "etcd", data)
    rates = {}
    for name, commands in _schedulers():
        folder = tmp_path / name.replace(" ", "-")
        shutil.copytree(data, folder / "etcd")
        with serving(Path(BINARIES), folder) as server, contextlib.ExitStack() as started:
            started_s = cpu_of_children_s()
            processes = [
                started.enter_context(running(command, folder / f"scheduler-{number}.log"))
                for number, command in enumerate(commands(server))
            ]
            pids = [each.process.pid for each in processes]
            most_s = _MOST_KAI_S if name == KAI else _MOST_S
            rates[name], n_bound = pods_per_second(server, processes[0], size[1], most_s)
            own_ms, all_ms = (1000 * spent_s / n_bound for spent_s in (_cpu_s(pids), cpu_of_children_s() - started_s))
            if n_bound < size[1] and name == KAI:
                print(
                    f"\n{name}, {size[0]:,} nodes, stopped after {n_bound:,} pods: {rates[name]:.0f} pods/s, {own_ms:.2f} ms "
                    f"of CPU for each, {all_ms:.2f} ms with the control plane; peak {sum(memory_mib(pid)[1] for pid in pids):.0f} MiB"
                )
                continue
            assert n_bound == size[1], f"{name} bound {n_bound:,} of {size[1]:,} pods"
            idle = _idle(pids, _IDLE_S if bench_size.judged else 1.0)
            settled_ms = 1000 * _cpu_s(pids) / size[1]
            print(
                f"\n{name}, {size[0]:,} nodes: {rates[name]:.0f} pods/s, {own_ms:.2f} ms of CPU for each, {all_ms:.2f} ms "
                f"with the control plane; {settled_ms:.2f} ms until it is idle, at {idle:.2%} of a core; "
                f"peak {sum(memory_mib(pid)[1] for pid in pids):.0f} MiB"
            )
            latencies_ms = _latencies_ms(server, _LONE_PODS if bench_size.judged else 5)
            percentiles = quantiles(latencies_ms, n=100, method="inclusive")
            print(
                f"{name}: from creation to bind of a single pod: median {percentiles[49]:.0f} ms, "
                f"99th percentile {percentiles[98]:.0f} ms"
            )
        shutil.rmtree(folder / "etcd")
        if bench_size.judged and name == OURS:
            assert idle <= MOST_IDLE
            assert percentiles[98] <= MOST_P99_MS
    if bench_size.judged:
        assert rates[OURS] >= LEAST_RATIO * rates["kube-scheduler"]


def _schedulers() -> Iterator[tuple[str, Callable[[Server], Iterable[Command]]]]:
    yield "kube-scheduler", lambda server: kube_scheduler_commands(server, Path(BINARIES) / "kube-scheduler")
    yield OURS, apportion_commands
    if KAI_BINARIES:
        yield KAI, lambda server: kai_commands(server, Path(KAI_BINARIES))


def _cpu_s(pids: Sequence[int]) -> float:
    return sum(cpu_s(pid) for pid in pids)


def _idle(pids: Sequence[int], for_s: float) -> float:
    """Return the part of a core that processes take for a time, once events and statuses of the bound pods are written."""
    deadline = time.monotonic() + _SETTLED_S
    while True:
        before_s = _cpu_s(pids)
        time.sleep(for_s)
        idle = (_cpu_s(pids) - before_s) / for_s
        if idle <= MOST_IDLE or time.monotonic() >= deadline:
            return idle


def _latencies_ms(server: Server, count: int) -> list[float]:
    found = []
    with contextlib.closing(server.connect()) as connection, server.bindings() as bindings:
        for number in range(count):
            name = f"lone-{number}"
            # It has no pod group: the scheduler creates one.
            began_s = time.monotonic()
            server.send(connection, "POST", PODS, pod(name))
            found.append(next(1000 * (at_s - began_s) for bound, at_s in bindings if bound == name))
            time.sleep(0.3)
    return found
