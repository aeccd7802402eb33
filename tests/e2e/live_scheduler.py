"""The live scheduler as a process with the packaged account, and a cluster of two queues and a node for it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from apportion_compiler.packaged_scheduler import SchedulerDeployment, scheduler_objects

from .control_plane import ControlPlane, kubeconfig
from .kubectl import Answer, Kubectl, Object
from .namespaces import delete_with_namespaces, namespace

NAMESPACE = "scheduled"
PACKAGED = SchedulerDeployment("apportion:test")
SHARING = replace(PACKAGED, reservation="registry.example/resourcereservation:v0.17.0")
"""With GPU sharing."""
ACCOUNT = f"system:serviceaccount:{PACKAGED.namespace}:apportion-scheduler"
"""The user name of the packaged service account."""
LIMIT_S = 180
CAPACITY = {"cpu": "32", "memory": "256Gi", "nvidia.com/gpu": "4", "pods": "110"}
_Found = TypeVar("_Found")


def queue(
    name: str, parent: str | None, quota: float, limit: float, labels: dict[str, str] | None = None
) -> dict[str, Any]:
    free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    spec: dict[str, Any] = {
        "resources": {"gpu": {"quota": quota, "limit": limit, "overQuotaWeight": 1}, "cpu": free, "memory": free}
    }
    if parent:
        spec["parentQueue"] = parent
    metadata = {"name": name, "labels": labels or {}}
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": metadata, "spec": spec}


QUEUES = (
    queue("sched-all", None, 4, 4),
    queue("sched-nlp", "sched-all", 2, -1),
    queue("sched-vision", "sched-all", 2, 2),
)


def pod(
    name: str, of: str, gpus: int, *, scheduler: str = "kai-scheduler", namespace: str = NAMESPACE
) -> dict[str, Any]:
    resources = {"requests": {"nvidia.com/gpu": str(gpus)}, "limits": {"nvidia.com/gpu": str(gpus)}}
    # Without a kubelet, no component completes termination; a grace period of 0 deletes the pod immediately.
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"kai.scheduler/queue": of}},
        "spec": {
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "none", "resources": resources}],
        },
    }


def add_node(kubectl: Kubectl, name: str, labels: dict[str, str] | None = None) -> Object:
    """Create a node that is ready, and return it."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels or {}}}
    answer = kubectl.create(node)
    assert answer.accepted, answer.said
    ready = [{"type": "Ready", "status": "True"}]
    status = json.dumps({"status": {"allocatable": CAPACITY, "capacity": CAPACITY, "conditions": ready}})
    kubectl.must("patch", "node", name, "--subresource=status", "--type=merge", "-p", status)
    # Admission taints every new node as not ready, and the controller that removes the taint does not run here.
    kubectl.must("patch", "node", name, "--type=merge", "-p", '{"spec": {"taints": null}}')
    return node


@contextlib.contextmanager
def scheduled_cluster(kubectl: Kubectl) -> Iterator[Kubectl]:
    """Create the namespace, the queues and the node, and delete them at the end of the block."""
    made: list[Object] = [namespace(NAMESPACE), *QUEUES]
    try:
        answer = kubectl.create(*made)
        assert answer.accepted, answer.said
        made.append(add_node(kubectl, "sched-1"))
        yield kubectl
    finally:
        delete_with_namespaces(kubectl, made)


@contextlib.contextmanager
def packaged_account(plane: ControlPlane, kubectl: Kubectl, packaged: SchedulerDeployment = PACKAGED) -> Iterator[Path]:
    """Apply the packaged objects, and yield the kubeconfig of their service account."""
    objects = scheduler_objects(packaged)
    try:
        answer = kubectl.apply_objects(objects)
        assert answer.accepted, answer.said
        assert answer.said == ""
        name = "apportion-scheduler"
        token = kubectl.must("create", "token", name, f"--namespace={packaged.namespace}").out.strip()
        yield kubeconfig(plane, name, token)
    finally:
        delete_with_namespaces(kubectl, tuple(reversed(objects)))


@contextlib.contextmanager
def scheduler(access: Path, log: Path, *arguments: str, lease: str = "apportion-scheduler") -> Iterator[None]:
    """Run the scheduler; at the end of the block, it must stop gracefully."""
    command = [
        str(Path(sys.executable).with_name("apportion")),
        "scheduler",
        "--kubeconfig",
        str(access),
        "--port=0",
        "--period=0.2",
        f"--lease={PACKAGED.namespace}/{lease}",
        *arguments,
    ]
    with (
        log.open("wb") as written,
        subprocess.Popen(command, stdout=written, stderr=written, env={"PATH": os.defpath}) as process,
    ):
        try:
            yield
        finally:
            process.terminate()
            assert process.wait(timeout=120) == 0, log.read_text()


def sharing_configuration(folder: Path, timeout_s: int) -> str:
    """Write the configuration of a scheduler that shares GPUs, and return the option that names it."""
    path = folder / "scheduler.yaml"
    reservation = {"image": SHARING.reservation, "timeoutSeconds": timeout_s}
    header = {"apiVersion": "apportion.dev/v1", "kind": "SchedulerConfiguration"}
    path.write_text(json.dumps({**header, "gpuReservation": reservation}))
    return f"--config={path}"


def until(said: Callable[[], _Found], wanted: Callable[[_Found], bool], log: Path | None = None) -> _Found:
    """Return the first wanted value; fail with the log of the scheduler after three minutes."""
    deadline = time.monotonic() + LIMIT_S
    while not wanted(found := said()):
        assert time.monotonic() < deadline, f"{found}\n{log.read_text() if log else ''}"
        time.sleep(0.3)
    return found


def pods(cluster: Kubectl) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one for one in cluster.get("pods", f"--namespace={NAMESPACE}")["items"]}


def bound(cluster: Kubectl, node: str | None = None) -> set[str]:
    """Return the pods that are bound, to a node or to any."""
    nodes = {name: one["spec"].get("nodeName") for name, one in pods(cluster).items()}
    return {name for name, bound_to in nodes.items() if bound_to and node in (None, bound_to)}


def bind(cluster: Kubectl, name: str) -> Answer:
    """Bind a pod, as another scheduler does."""
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "sched-1"},
    }
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/binding"
    return cluster("create", "--raw", path, "-f", "-", stdin=json.dumps(binding))


def pending_reason(cluster: Kubectl, name: str) -> str:
    """Return the message of a pod's condition `PodScheduled`; empty if it has none."""
    conditions = pods(cluster)[name].get("status", {}).get("conditions") or ()
    return next((str(one.get("message", "")) for one in conditions if one["type"] == "PodScheduled"), "")


def events(cluster: Kubectl, reason: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cluster.get("events", f"--namespace={NAMESPACE}")["items"]
    return [one for one in found if one["reason"] == reason]


def report_running(cluster: Kubectl, name: str) -> None:
    """Report a pod as running and ready, as a kubelet does: a budget protects only such pods."""
    conditions = [{"type": "Ready", "status": "True"}]
    patch = json.dumps({"status": {"phase": "Running", "conditions": conditions}})
    cluster.must("patch", "pod", name, f"--namespace={NAMESPACE}", "--subresource=status", "--type=merge", "-p", patch)
