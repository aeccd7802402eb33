"""Pods that a real kube-scheduler places on fake nodes, and the same pods simulated on plain Kubernetes.

APPORTION_E2E_BIN is the directory of the control plane and kube-scheduler that `make e2e` builds, below
~/.cache/apportion-e2e. Nodes are objects without kubelets, as KWOK makes them; no pod starts.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ..e2e.processes import running
from .conftest import BenchSize
from .live_objects import NAMESPACE, PODS, SCHEDULER, Request
from .live_server import Server, kube_scheduler_commands, serving
from .native_peer_run import CPUS, GPUS, MEMORY, name_of, sizes
from .process import cpu_s, memory_mib

pytestmark = pytest.mark.bench

BINARIES = os.environ.get("APPORTION_E2E_BIN", "")
needs_servers = pytest.mark.skipif(
    not BINARIES,
    reason="set APPORTION_E2E_BIN to the control plane that `make e2e` builds (~/.cache/apportion-e2e/kubernetes-…)",
)
_GPU = "nvidia.com/gpu"
_MOST_S, _SETTLED_S = 1800.0, 10.0


@needs_servers
def test_beside_kube_scheduler(bench_size: BenchSize, tmp_path: Path) -> None:
    """Both place the same pods, and leave those pending that fit on no node."""
    n_nodes, n_pods = (1_000, 10_000) if bench_size.judged else (20, 150)
    script = Path(__file__).with_name("native_peer_run.py")
    command = (sys.executable, str(script), str(n_pods), str(n_nodes))
    ours = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    with serving(Path(BINARIES), tmp_path / "server") as server:
        server.create(tuple(_setting()))
        # Pods are rejected before the namespace has its account.
        time.sleep(2)
        server.create(tuple(_nodes(n_nodes)))
        server.create(tuple(_pods(n_pods)))
        (scheduler,) = kube_scheduler_commands(server, Path(BINARIES) / "kube-scheduler")
        began_s = time.monotonic()
        with running(scheduler, tmp_path / "kube-scheduler.log") as process:
            ended_s = _wait(server)
            pid = process.process.pid
            spent_s, peak_mib = cpu_s(pid), memory_mib(pid)[1]
        theirs = _node_by_pod(server)
    mine: Mapping[str, str] = ours["node_by_pod"]
    n_same = sum(mine.get(name) == node for name, node in theirs.items())
    print(
        f"\n{n_pods:,} pods, {n_nodes:,} nodes: Apportion places {len(mine):,} in {ours['cpu_s']:.1f} s of CPU, "
        f"{ours['peak_mib']:.0f} MiB; kube-scheduler places {len(theirs):,} in {ended_s - began_s:.0f} s, {spent_s:.1f} s of "
        f"CPU, {peak_mib:.0f} MiB; {n_same:,} on the same node; devices in use on the nodes: "
        f"{_range(mine, n_pods)} and {_range(theirs, n_pods)}"
    )
    assert mine.keys() == theirs.keys()
    if bench_size.judged:
        assert ours["cpu_s"] <= spent_s


def _setting() -> Iterator[Request]:
    yield "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    # Every pod mounts it, and the controller that publishes it does not run.
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt"}}
    yield f"/api/v1/namespaces/{NAMESPACE}/configmaps", made


def _nodes(count: int) -> Iterator[Request]:
    amounts = {"cpu": str(CPUS), "memory": MEMORY, _GPU: str(GPUS), "pods": "110"}
    for number in range(count):
        status = {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
        name = f"gpu-{number:04}"
        metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, "nvidia.com/gpu.count": str(GPUS)}}
        yield "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def _pods(count: int) -> Iterator[Request]:
    for number, (cpus, gpus) in enumerate(sizes(count)):
        devices = {_GPU: str(gpus)} if gpus else {}
        resources = {"requests": {"cpu": str(cpus), "memory": "1Gi", **devices}, "limits": devices}
        spec = {
            "schedulerName": SCHEDULER,
            "containers": [{"name": "main", "image": "none", "resources": resources}],
            # No controller removes the taint that admission adds to each node.
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}],
        }
        metadata = {"name": name_of(number), "namespace": NAMESPACE}
        yield PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _wait(server: Server) -> float:
    """Wait until no pod is bound for some time, and return the time of the last bind."""
    last, at_s = 0, time.monotonic()
    deadline = at_s + _MOST_S
    with contextlib.closing(server.connect()) as connection:
        while time.monotonic() < deadline and (not last or time.monotonic() < at_s + _SETTLED_S):
            time.sleep(0.5)
            count = server.n_bindings(connection)
            if count > last:
                last, at_s = count, time.monotonic()
    return at_s


def _node_by_pod(server: Server) -> dict[str, str]:
    with contextlib.closing(server.connect()) as connection:
        items = server.send(connection, "GET", PODS)["items"]
    return {each["metadata"]["name"]: each["spec"]["nodeName"] for each in items if each["spec"].get("nodeName")}


def _range(node_by_pod: Mapping[str, str], n_pods: int) -> str:
    gpus = {name_of(number): gpus for number, (_, gpus) in enumerate(sizes(n_pods))}
    used: Counter[str] = Counter()
    for name, node in node_by_pod.items():
        used[node] += gpus[name]
    return f"{min(used.values())} to {max(used.values())}"
