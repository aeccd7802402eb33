"""Nodes of KWOK, whose controller acts as their kubelets: pods become ready and run, and terminating pods end.

KWOK manages only nodes with its annotation, so that it ignores the nodes of other tests. A job's pod runs until the test
completes it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from .kubectl import Kubectl, Object
from .processes import Running, free_ports, running

_ANNOTATION = "kwok.x-k8s.io/node"
_NOT_READY = "node.kubernetes.io/not-ready:NoSchedule"
_COMPLETION = "pod-complete"
"""KWOK's stage that completes the pod of a Job as soon as it runs."""


@contextlib.contextmanager
def kwok(kubectl: Kubectl, binaries: Path) -> Iterator[Running]:
    """Run KWOK's controller until the block ends."""
    stages = list(yaml.safe_load_all((binaries / "stages.yaml").read_bytes()))
    kept = kubectl.kubeconfig.parent / "kwok-stages.yaml"
    kept.write_text(yaml.safe_dump_all(one for one in stages if one["metadata"]["name"] != _COMPLETION))
    (port,) = free_ports(1)
    command = [
        binaries / "kwok",
        f"--kubeconfig={kubectl.kubeconfig}",
        f"--manage-nodes-with-annotation-selector={_ANNOTATION}=fake",
        f"--config={kept}",
        f"--server-address=127.0.0.1:{port}",
        "--node-lease-duration-seconds=0",
    ]
    with running(command, kubectl.kubeconfig.parent / "kwok.log", folder=kubectl.kubeconfig.parent) as process:
        yield process


def register(kubectl: Kubectl, nodes: Iterable[Object]) -> list[Object]:
    """Create nodes as kubelets do, with their allocatable resources, and return them; KWOK makes them ready."""
    made = list(nodes)
    answer = kubectl.create(*map(_ready_to_run, made))
    assert answer.accepted, answer.said
    # Admission taints every new node as not ready, and the controller that removes the taint does not run here.
    kubectl.must("taint", "nodes", *(one["metadata"]["name"] for one in made), f"{_NOT_READY}-")
    return made


def _ready_to_run(node: Object) -> Object:
    allocatable = {"pods": "110", **node["status"]["allocatable"]}
    metadata = {**node["metadata"], "annotations": {_ANNOTATION: "fake"}}
    return {**node, "metadata": metadata, "status": {"allocatable": allocatable, "capacity": allocatable}}


def complete(kubectl: Kubectl, pods: Iterable[dict[str, Any]]) -> None:
    """Report pods as succeeded, as kubelets do when their containers exit."""
    for pod in pods:
        meta = pod["metadata"]
        patch = ("--subresource=status", "--type=merge", "-p", '{"status": {"phase": "Succeeded"}}')
        kubectl.must("patch", "pod", meta["name"], f"--namespace={meta['namespace']}", *patch)
