"""Clusters for the scheduler's benchmarks: 8-GPU nodes, 10 departments of 10 queues, gangs of 8 pods of one GPU."""

from __future__ import annotations

from apportion_runtime.core.resources import GpuRequest
from apportion_runtime.core.snapshot import Node, Pod, PodGroup, Queue, QueueResource, Snapshot, SubGroup
from apportion_runtime.core.status import PENDING, RUNNING

GPUS = 8
GANG = 8
N_DEPARTMENTS = 10
N_QUEUES = 100
NOW = 1_000_000.0
_UNBOUND = QueueResource(-1.0, -1.0, 1.0)
_ONE_GPU = GpuRequest(1, 1.0)
_REQUEST = {"cpu": 1000.0, "memory": 1e9, "pods": 1.0}


def pending_cluster(n_nodes: int, n_pods: int) -> Snapshot:
    """Return an empty cluster with pending gangs, spread over all queues."""
    return _cluster(n_nodes, [(q % N_QUEUES, PENDING, None) for q in range(n_pods // GANG)])


def mixed_cluster(n_nodes: int, n_pending: int) -> Snapshot:
    """Return a full cluster: half of the queues use all of it, and the other half are below their fair share."""
    running = [(2 * (g % (N_QUEUES // 2)), RUNNING, g) for g in range(n_nodes)]
    waiting = [(2 * (g % (N_QUEUES // 2)) + 1, PENDING, None) for g in range(n_pending // GANG)]
    return _cluster(n_nodes, [*running, *waiting])


def _cluster(n_nodes: int, gangs: list[tuple[int, int, int | None]]) -> Snapshot:
    share = n_nodes * GPUS / N_QUEUES
    queues = [
        Queue(f"department-{d}", None, _UNBOUND, _UNBOUND, QueueResource(share * N_QUEUES / N_DEPARTMENTS, -1.0, 1.0))
        for d in range(N_DEPARTMENTS)
    ]
    queues += [
        Queue(f"queue-{q}", f"department-{q % N_DEPARTMENTS}", _UNBOUND, _UNBOUND, QueueResource(share, -1.0, 1.0))
        for q in range(N_QUEUES)
    ]
    nodes = tuple(
        Node(
            f"node-{n:05}",
            {"cpu": 128_000.0, "memory": 1e12, "gpu": float(GPUS), "pods": 110.0},
            gpu_memory=81_900,
            n_gpus=GPUS,
        )
        for n in range(n_nodes)
    )
    groups: list[PodGroup] = []
    pods: list[Pod] = []
    for number, (queue, status, node) in enumerate(gangs):
        name = f"gang-{number:06}"
        root = SubGroup("", None, (SubGroup("default", GANG),))
        started = NOW - 600 if status == RUNNING else None
        groups.append(
            PodGroup(name, name, "default", f"queue-{queue}", 50, True, NOW - 3600 + number / 100, root, started)
        )
        on = None if node is None else nodes[node].name
        pods += (
            Pod(f"{name}-{i}", f"{name}-{i}", "default", name, status, on, request=_REQUEST, gpu=_ONE_GPU)
            for i in range(GANG)
        )
    return Snapshot(nodes, tuple(queues), tuple(groups), tuple(pods), now=NOW)
