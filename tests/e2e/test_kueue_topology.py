"""Topology-aware scheduling by Kueue: the pods of a Job share a block, or the Job stays pending.

The cluster is that of `topology`: four machines of eight GPUs in two blocks, and an ordinary one. There is no kubelet
and no scheduler: nodes are made as `node-labels.yaml` asks, and what counts is where the pods are sent.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
import yaml

from .admission import admit, clear, condition, is_held_back, may_run, submit, wait_for, wait_until_active, workload_of
from .bind_output import bound_job
from .compiled_trees import POLICIES, Tree, compile_policy, installed
from .kubectl import Kubectl, Object
from .workloads import pod

pytestmark = pytest.mark.e2e

POLICY = POLICIES / "topology"
BLOCK = "lab.example/block"
HOST = "kubernetes.io/hostname"
REQUIRED = "kueue.x-k8s.io/podset-required-topology"
GATE = "kueue.x-k8s.io/topology"
BLOCKS = {"gpu-0": "a", "gpu-1": "a", "gpu-2": "b", "gpu-3": "b"}
_PLACED_S = 120


@pytest.fixture(scope="module")
def cluster(
    cluster_for: Callable[[Sequence[Tree]], Kubectl], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kubectl]:
    trees = compile_policy(POLICY, tmp_path_factory.mktemp("rendered"))["on-kueue", "one"]
    cluster = cluster_for(trees)
    nodes = _nodes(yaml.safe_load((trees[0].folder / "node-labels.yaml").read_text()))
    try:
        for node in nodes:
            _make(cluster, node)
        with installed(cluster, trees, refused=(pod("vision", scheduler=None, node="gpu-0"),)):
            wait_until_active(cluster)
            yield cluster
            clear(cluster)
    finally:
        cluster.must("delete", "nodes", "--ignore-not-found", *(node["metadata"]["name"] for node in nodes))


def test_pods_of_a_job_share_a_block(cluster: Kubectl) -> None:
    """Each pod is assigned a machine of its own, all in one block."""
    work = _gathered(2)
    admit(cluster, work)
    hosts = _hosts(cluster, work, 2)
    assert len(hosts) == 2
    assert len({BLOCKS[host] for host in hosts}) == 1
    clear(cluster)


def test_job_larger_than_a_block_waits(cluster: Kubectl) -> None:
    """The quota suffices: without the annotation the same Job is admitted."""
    work = _gathered(3)
    submit(cluster, work)
    waits = wait_for(cluster, work, is_held_back, "held back")
    assert 'topology "blocks' in condition(waits, "QuotaReserved")["message"]
    assert not may_run(cluster, work)
    clear(cluster)
    anywhere = _job(3)
    admit(cluster, anywhere)
    assert len(_hosts(cluster, anywhere, 3)) == 3
    clear(cluster)


def test_full_block_is_skipped(cluster: Kubectl) -> None:
    """Usage is counted per machine: two Jobs of two machines have a block each, and a third stays pending."""
    first, second = _gathered(2, name="first"), _gathered(2, name="second")
    admit(cluster, first, second)
    taken = [{BLOCKS[host] for host in _hosts(cluster, work, 2)} for work in (first, second)]
    assert sorted(map(tuple, taken)) == [("a",), ("b",)]
    clear(cluster)


def test_work_without_gpus_uses_cpu_nodes(cluster: Kubectl) -> None:
    """The Job requests no topology, and its flavor's topology has only the host level."""
    work = bound_job(POLICY, "on-kueue", "web", "--workers", "2", "--cpu", "4")
    admit(cluster, work)
    made = workload_of(cluster, work)
    assert made is not None
    (assigned,) = made["status"]["admission"]["podSetAssignments"]
    assert assigned["flavors"]["cpu"].startswith("ordinary-")
    assert _hosts(cluster, work, 2) == {"ordinary-0"}
    clear(cluster)


def _job(n_workers: int, name: str = "train") -> Object:
    return bound_job(POLICY, "on-kueue", "vision", "--workers", str(n_workers), "--gpus", "8", "--name", name)


def _gathered(n_workers: int, name: str = "train") -> Object:
    """Return a Job that requires one block for its pods."""
    work = _job(n_workers, name)
    work["spec"]["template"].setdefault("metadata", {}).setdefault("annotations", {})[REQUIRED] = BLOCK
    return work


def _hosts(cluster: Kubectl, work: Object, n_pods: int) -> set[str]:
    """Return the machines of a Job's pods, after Kueue has removed all scheduling gates."""
    meta = work["metadata"]
    flags = (f"--namespace={meta['namespace']}", f"--selector=batch.kubernetes.io/job-name={meta['name']}")
    deadline = time.monotonic() + _PLACED_S
    while True:
        pods = cluster.get("pods", *flags)["items"]
        gates = [gate["name"] for one in pods for gate in one["spec"].get("schedulingGates", ())]
        if len(pods) == n_pods and GATE not in gates:
            return {one["spec"]["nodeSelector"][HOST] for one in pods}
        assert time.monotonic() < deadline, f"{len(pods)} pods of {n_pods}, held by {gates}"
        time.sleep(0.2)


def _nodes(asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the machines of the policy, with the labels and taints of the compiled tree."""
    gpus = {"cpu": "96", "memory": "960Gi", "nvidia.com/gpu": "8", "pods": "110"}
    made = [_node(name, asked["gpu"], {BLOCK: block}, gpus) for name, block in BLOCKS.items()]
    return [*made, _node("ordinary-0", asked["ordinary"], {}, {"cpu": "32", "memory": "128Gi", "pods": "110"})]


def _node(name: str, asked: Mapping[str, Any], labels: Mapping[str, str], holds: Mapping[str, str]) -> dict[str, Any]:
    taints = [dict(zip(("key", "value", "effect"), _parts(text), strict=True)) for text in asked.get("taints", ())]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**asked["labels"], **labels, HOST: name}},
        "spec": {"taints": taints},
        "status": {"allocatable": dict(holds), "capacity": dict(holds), "conditions": [_READY]},
    }


_READY = {"type": "Ready", "status": "True", "reason": "Made", "message": "made by the test"}


def _parts(taint: str) -> tuple[str, str, str]:
    key, _, rest = taint.partition("=")
    value, _, effect = rest.partition(":")
    return key, value, effect


def _make(cluster: Kubectl, node: Mapping[str, Any]) -> None:
    """Create a node and mark it as ready, as its kubelet and the node controller would."""
    answer = cluster.create(node)
    assert answer.accepted, answer.said
    name = node["metadata"]["name"]
    cluster.must(
        "patch", "node", name, "--subresource=status", "--type=merge", "-p", json.dumps({"status": node["status"]})
    )
    # The API server adds the not-ready taint to every new node.
    cluster.must("patch", "node", name, "--type=merge", "-p", json.dumps({"spec": node["spec"]}))
