"""On every Kueue cluster of every policy, the output of `bind` for each namespace is admitted.

There is no autoscaler, whose answer the test gives. Where a flavor has a topology, Kueue looks for nodes: one is made
for each such flavor.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from .admission import (
    answer_request,
    clear,
    condition,
    is_admitted,
    provisioning_requests,
    wait_until_active,
    workloads_of,
)
from .bind_output import bound_job
from .compiled_trees import Tree, compile_policy, delete_unused, policies, runs_kueue
from .kubectl import Kubectl, Object

pytestmark = pytest.mark.e2e

_ADMITTED_S = 180
_QUEUE_ID = "apportion.dev/queue-id"
_ROOM = {"cpu": "1k", "memory": "100Ti", "nvidia.com/gpu": "100", "pods": "1k"}

_FOLDERS = [
    pytest.param(folder, id=f"{folder.parent.name}-{folder.name}") for folder in policies() if runs_kueue(folder)
]


@pytest.mark.parametrize("folder", _FOLDERS)
def test_every_namespace_is_admitted(
    folder: Path, cluster_for: Callable[[Sequence[Tree]], Kubectl], tmp_path: Path
) -> None:
    """Queues are active, and a Job of each namespace has quota and nodes, and is not suspended."""
    clusters = compile_policy(folder, tmp_path)
    for (environment, name), trees in clusters.items():
        if not any(tree.target == "kueue" for tree in trees):
            continue
        kubectl = cluster_for(trees)
        objects = [one for tree in trees for one in tree.objects()]
        queues = [one for one in objects if one["kind"] == "LocalQueue"]
        nodes = list(_nodes(objects))
        jobs = [_job(folder, environment, name, queue) for queue in queues]
        try:
            _make_nodes(kubectl, nodes)
            for tree in trees:
                answer = kubectl.apply(tree.files)
                assert answer.accepted, answer.said
            wait_until_active(kubectl)
            answer = kubectl.create(*jobs)
            assert answer.accepted, answer.said
            _wait_until_admitted(kubectl, jobs, f"{environment}/{name}")
        finally:
            clear(kubectl)
            delete_unused(kubectl, *trees)
            if nodes:
                kubectl.must("delete", "nodes", *(node["metadata"]["name"] for node in nodes))


def _job(folder: Path, environment: str, cluster: str, queue: Object) -> Object:
    meta = queue["metadata"]
    where = ("--cluster", cluster, "--namespace", meta["namespace"])
    return bound_job(folder, environment, meta["labels"][_QUEUE_ID], *where)


def _nodes(objects: Sequence[Object]) -> Iterator[Object]:
    """Yield a node with ample capacity for each flavor that has a topology."""
    levels = {
        one["metadata"]["name"]: [level["nodeLabel"] for level in one["spec"]["levels"]]
        for one in objects
        if one["kind"] == "Topology"
    }
    for one in objects:
        topology = one["spec"].get("topologyName") if one["kind"] == "ResourceFlavor" else None
        if topology is not None:
            name = one["metadata"]["name"]
            # Kueue identifies a host by its name only, so no wider domain may have the same name.
            domains = {level: f"{name}-{number}" for number, level in enumerate(levels[topology])}
            labels = {**domains, **one["spec"]["nodeLabels"], "kubernetes.io/hostname": name}
            meta = {"name": name, "labels": labels}
            yield {"apiVersion": "v1", "kind": "Node", "metadata": meta}


def _make_nodes(kubectl: Kubectl, nodes: Sequence[Object]) -> None:
    for node in nodes:
        assert kubectl.create(node).accepted
        ready = {"type": "Ready", "status": "True", "reason": "Test", "message": "It is there."}
        status = {"status": {"capacity": _ROOM, "allocatable": _ROOM, "conditions": [ready]}}
        flags = ("--subresource=status", "--type=merge", "--patch", json.dumps(status))
        kubectl.must("patch", "node", node["metadata"]["name"], *flags)
        # The API server adds it to every new node, and the controller that removes it does not run here.
        kubectl.must("taint", "node", node["metadata"]["name"], "node.kubernetes.io/not-ready-")


def _wait_until_admitted(kubectl: Kubectl, jobs: Sequence[Object], where: str) -> None:
    deadline = time.monotonic() + _ADMITTED_S
    answered = set[str]()
    while True:
        made = workloads_of(kubectl, *jobs)
        waiting = [job for job, one in zip(jobs, made, strict=True) if one is None or not is_admitted(one)]
        if not waiting:
            return
        assert time.monotonic() < deadline, f"{where}: not admitted: " + "; ".join(
            f"{job['metadata']['namespace']}: {None if one is None else condition(one, 'QuotaReserved')}"
            for job, one in zip(jobs, made, strict=True)
            if job in waiting
        )
        for request in provisioning_requests(kubectl):
            if request["metadata"]["uid"] not in answered:
                answered.add(request["metadata"]["uid"])
                answer_request(kubectl, request, "Provisioned")
        time.sleep(0.2)
