"""A small cluster: nodes of eight GPUs, queues, and gangs whose pods a ReplicaSet recreates."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ..live_scheduler import pod, queue
from .api_client import NODES, QUEUES, ApiClient
from .cluster_state import GPU, GROUPS, NAMESPACE, PODS, REPLICA_SETS

N_NODES = 20
GPUS_OF_NODE = 8
_AMOUNTS = {"cpu": "64", "memory": "512Gi", GPU: str(GPUS_OF_NODE), "pods": "110"}
_N_THREADS = 4
_EMPTY_S = 120


@dataclass(frozen=True, slots=True)
class Gang:
    """A gang of equal pods that needs all of them."""

    name: str
    size: int
    gpus: int
    queue: str = "open"


QUEUE_TREE = (queue("all", None, -1, -1), queue("open", "all", 100, -1), queue("tight", "all", 16, 24))


def create_cluster(api: ApiClient) -> None:
    """Create the nodes, the queues and the namespace."""
    api.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for one in QUEUE_TREE:
        api.request("POST", QUEUES, one)
    with ThreadPoolExecutor(_N_THREADS) as threads:
        list(threads.map(lambda number: create_node(api, f"n{number:02}"), range(N_NODES)))


def create_node(api: ApiClient, name: str) -> None:
    api.request("POST", NODES, {"metadata": {"name": name}})
    conditions = [{"type": "Ready", "status": "True"}]
    status = {"allocatable": _AMOUNTS, "capacity": _AMOUNTS, "conditions": conditions}
    api.request("PATCH", f"{NODES}/{name}/status", {"status": status})
    # Admission taints every new node as not ready, and the controller that removes the taint does not run here.
    api.request("PATCH", f"{NODES}/{name}", {"spec": {"taints": None}})


def create_gangs(api: ApiClient, *gangs: Gang) -> None:
    """Create pod groups and the ReplicaSets of their pods."""
    with ThreadPoolExecutor(_N_THREADS) as threads:
        list(threads.map(lambda gang: _create(api, gang), gangs))


def _create(api: ApiClient, gang: Gang) -> None:
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": gang.name},
        "spec": {"queue": gang.queue, "minMember": gang.size},
    }
    api.request("POST", GROUPS, group)
    member = pod(gang.name, gang.queue, gang.gpus)
    labels = {"gang": gang.name, **member["metadata"]["labels"]}
    template = {
        "metadata": {"labels": labels, "annotations": {"pod-group-name": gang.name}},
        "spec": member["spec"],
    }
    spec = {"replicas": gang.size, "selector": {"matchLabels": {"gang": gang.name}}, "template": template}
    api.request("POST", REPLICA_SETS, {"metadata": {"name": gang.name}, "spec": spec})


def remove_gangs(api: ApiClient) -> None:
    """Delete the gangs, and return when no pod is left."""
    api.delete(REPLICA_SETS)
    deadline = time.monotonic() + _EMPTY_S
    while api.items(REPLICA_SETS) or api.items(PODS):
        assert time.monotonic() < deadline, "pods remain"
        if not api.items(REPLICA_SETS):
            api.delete(PODS)
        time.sleep(0.1)
    api.delete(GROUPS)
