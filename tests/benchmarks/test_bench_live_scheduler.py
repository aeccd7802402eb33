"""What the live scheduler's process needs: memory and CPU time at start, at rest and for each pod that it binds.

The API server is that of the unit tests, in another process. The resources of the packaged Deployment follow from this.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.unit.runtime.kube.api_server import ApiServer, listening
from tests.unit.runtime.kube.objects import TRAIN, node, pod, pod_group, queue

from apportion_compiler.packaged_scheduler import SchedulerDeployment, scheduler_objects

from .conftest import BenchSize
from .process import cpu_s, memory_mib

pytestmark = pytest.mark.bench

GANG, GPUS = 8, 8
REST_S, LIMIT_S = 30, 300
MEMORY_MIB = 512
"""What the packaged Deployment requests."""


def _written(made: dict[str, Any]) -> dict[str, Any]:
    """Return a pod with what training pods have in addition: settings, volumes, states and managers."""
    spec, name = made["spec"], made["metadata"]["name"]
    spec["containers"][0] |= {
        "image": "registry.example.com/training/model@sha256:" + "0" * 64,
        "env": [{"name": f"SETTING_{number}", "value": f"value-{number}-of-{name}"} for number in range(20)],
        "volumeMounts": [{"name": f"volume-{number}", "mountPath": f"/mnt/{number}"} for number in range(4)],
    }
    spec["volumes"] = [{"name": f"volume-{number}", "emptyDir": {}} for number in range(4)]
    fields = {f"f:field-{number}": {"f:value": {}, f"k:{name}": {}} for number in range(40)}
    made["metadata"]["managedFields"] = [
        {"manager": manager, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": fields}
        for manager in ("kube-controller-manager", "kubelet")
    ]
    conditions = ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    made["status"]["conditions"] = [{"type": type_, "status": "True"} for type_ in conditions]
    return made


def _cluster(n_nodes: int) -> Iterator[dict[str, Any]]:
    """Yield a full cluster of running gangs, and one node without pods."""
    yield from (TRAIN, queue("all", None, -1), queue("team", "all", -1))
    for number in range(n_nodes):
        yield node(f"node-{number}", GPUS)
        yield pod_group(f"gang-{number}", "team", GANG)
        for member in range(GANG):
            made = pod(
                f"gang-{number}-{member}", "team", 1, on=f"node-{number}", **{"pod-group-name": f"gang-{number}"}
            )
            yield _written(made)
    yield node("empty", GPUS)


def _requested_memory() -> str:
    """Return the memory that the packaged Deployment requests."""
    objects: dict[str, Any] = {str(one["kind"]): one for one in scheduler_objects(SchedulerDeployment("image"))}
    (container,) = objects["Deployment"]["spec"]["template"]["spec"]["containers"]
    return str(container["resources"]["requests"]["memory"])


def _is_bound(api: ApiServer, name: str) -> bool:
    return "nodeName" in api.pod(name)["spec"]


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_memory_and_cpu_of_a_full_cluster(tmp_path: Path, bench_size: BenchSize) -> None:
    n_nodes, rest_s = (1_000, REST_S) if bench_size.judged else (10, 1)
    api = ApiServer()
    api.add(*_cluster(n_nodes))
    size = len(json.dumps(api.pod("gang-0-0")))
    with listening(api) as port:
        account = {
            "clusters": [{"name": "here", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "users": [{"name": "here", "user": {}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "here"}}],
            "current-context": "here",
        }
        (tmp_path / "kubeconfig").write_text(json.dumps(account))
        command = [str(Path(sys.executable).with_name("apportion")), "scheduler", "--port=0", "--period=0.1"]
        with (tmp_path / "log").open("wb") as log:
            process = subprocess.Popen([*command, f"--kubeconfig={tmp_path / 'kubeconfig'}"], stdout=log, stderr=log)
        try:
            api.add(_written(pod("first", "team", 1)))
            _wait(partial(_is_bound, api, "first"))
            # The status of each pod group is written after the first cycle.
            _wait(lambda: len(api.written("PATCH", "/status")) >= n_nodes)
            time.sleep(1)
            start_s, (start_mib, _) = cpu_s(process.pid), memory_mib(process.pid)
            time.sleep(rest_s)
            idle = (cpu_s(process.pid) - start_s) / rest_s
            before_s = cpu_s(process.pid)
            for number in range(GPUS - 1):
                name = f"single-{number}"
                api.add(_written(pod(name, "team", 1)))
                _wait(partial(_is_bound, api, name))
            pod_s = (cpu_s(process.pid) - before_s) / (GPUS - 1)
            _, peak_mib = memory_mib(process.pid)
        finally:
            process.terminate()
            process.wait(30)
    print(
        f"\n{n_nodes} nodes, {n_nodes * GANG} pods of {size} bytes: start {start_s:.1f} CPU seconds, "
        f"{start_mib:.0f} MiB afterwards, peak {peak_mib:.0f} MiB; idle {idle:.1%} of a core; "
        f"{pod_s:.2f} CPU seconds for each pod that arrives alone"
    )
    if bench_size.judged:
        assert _requested_memory() == f"{MEMORY_MIB}Mi"
        assert peak_mib < MEMORY_MIB
