"""Small clusters for tests of the scheduler core, with generous defaults."""

from __future__ import annotations

from typing import Any

from apportion_runtime.core.cycle import cycle
from apportion_runtime.core.resources import GpuRequest
from apportion_runtime.core.session import Session
from apportion_runtime.core.snapshot import (
    Node,
    Pod,
    PodGroup,
    Queue,
    QueueResource,
    Settings,
    Snapshot,
    SubGroup,
)
from apportion_runtime.core.status import PENDING, RUNNING

NOW = 1_000_000.0
FREE = QueueResource(quota=-1, limit=-1, weight=1)
Made = tuple[PodGroup, list[Pod]]
"""A pod group and its pods."""


def node(name: str, gpus: int = 8, **changes: Any) -> Node:
    """Return a node with plenty of all but GPUs."""
    allocatable = {"cpu": 64_000.0, "memory": 256e9, "gpu": float(gpus), "pods": 110.0, **changes.pop("has", {})}
    return Node(name=name, allocatable=allocatable, n_gpus=gpus, gpu_memory=80_000, **changes)


def queue(
    name: str, parent: str | None = None, quota: float = -1, limit: float = -1, weight: float = 1, **changes: Any
) -> Queue:
    """Return a queue; the numbers are those of GPUs."""
    return Queue(name, parent, FREE, FREE, QueueResource(quota, limit, weight), **changes)


def job(
    name: str, queue: str, n: int = 1, gpus: float = 1, *, needs: int | None = None, priority: int = 50, **changes: Any
) -> Made:
    """Return a gang of n pods; `on` names the node where they run, `pod` changes each of them."""
    on, of_pod = changes.pop("on", None), changes.pop("pod", {})
    group = PodGroup(
        uid=name, name=name, namespace="team", queue=queue, priority=priority,
        preemptible=changes.pop("preemptible", priority < 100), created=changes.pop("created", NOW - 600),
        root=changes.pop("root", SubGroup("default", n if needs is None else needs)), **changes,
    )  # fmt: skip
    request = {"cpu": 1000.0, "memory": 1e9, "pods": 1.0}
    gpu = GpuRequest(int(gpus) if gpus >= 1 else 1, 1.0 if gpus >= 1 else gpus) if gpus else GpuRequest()
    pods = [
        Pod(
            **{
                "uid": f"{name}-{i}", "name": f"{name}-{i}", "namespace": "team", "group": name, "request": request,
                "gpu": gpu, "status": PENDING if on is None else RUNNING, "node": on, **of_pod,
            }
        )
        for i in range(n)
    ]  # fmt: skip
    return group, pods


def run(nodes: list[Node], queues: list[Queue], jobs: list[Made], **settings: Any) -> Session:
    """Run a cycle."""
    more = settings.pop("snapshot", {})
    groups, pods = tuple(group for group, _ in jobs), tuple(pod for _, own in jobs for pod in own)
    return cycle(Snapshot(tuple(nodes), tuple(queues), groups, pods, now=NOW, **more), Settings(**settings))
