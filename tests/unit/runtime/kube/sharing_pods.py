"""Pods that share devices, as KAI's admission webhook prepares them, and a cluster in memory that reserves devices."""

from __future__ import annotations

from typing import Any

from apportion_runtime.kube.gang_reservations import GangReservations
from apportion_runtime.kube.gpu_reservation import ReservationSettings

from .memory_cluster import Memory, run_cycle
from .objects import INFERENCE, NOW, TRAIN, node, pod
from .objects import queue as queue_object

GROUP = "runai-gpu-group"
GANG = {"pod-group-name": "gang"}
TEAM = queue_object("team", None, 8)
DEVICE = "run.ai/reserve_for_gpu_index"
RESERVED = "kai-resource-reservation"


def sharing(
    name: str, fraction: str = "0.5", *, queue: str = "team", priority: str = "train", **annotations: str
) -> dict[str, Any]:
    """Return a pod with a fraction of a device, or with the memory in its annotations."""
    request = {} if "gpu-memory" in annotations else {"gpu-fraction": fraction}
    prefix = {"runai/shared-gpu-configmap": f"{name}-x-shared-gpu"}
    made = pod(name, queue, 0, priority=priority, **prefix, **request, **annotations)
    source = {"configMapKeyRef": {"name": f"{name}-x-shared-gpu-0", "key": "NVIDIA_VISIBLE_DEVICES"}}
    made["spec"]["containers"][0]["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": source}]
    return made


def sharing_cluster(*objects: dict[str, Any], gpus: int = 4, **settings: Any) -> Memory:
    cluster = Memory(node("n1", gpus), TRAIN, INFERENCE, TEAM, *objects)
    chosen = ReservationSettings("registry.example/reservation:v1", **settings)
    cluster.reservations = GangReservations(chosen, lambda: cluster.clock_s)
    return cluster


def reservations(cluster: Memory) -> list[dict[str, Any]]:
    return [one for (kind, namespace, _), one in cluster.held.items() if (kind, namespace) == ("Pod", RESERVED)]


def report_devices(cluster: Memory) -> None:
    """Report the devices of all reservation pods, as the processes in them do."""
    for number, one in enumerate(reservations(cluster)):
        if DEVICE not in one["metadata"]["annotations"]:
            name = one["metadata"]["name"]
            cluster.merge("Pod", RESERVED, name, {"metadata": {"annotations": {DEVICE: f"GPU-{number}"}}})


def bind_all(cluster: Memory) -> None:
    run_cycle(cluster, NOW)
    report_devices(cluster)
    run_cycle(cluster, NOW + 1)


def group_labels(cluster: Memory, name: str) -> dict[str, str]:
    labels = cluster.held["Pod", "team", name]["metadata"]["labels"]
    return {key: value for key, value in labels.items() if key.startswith(GROUP)}


def end(cluster: Memory, name: str) -> None:
    cluster.merge_status("Pod", "team", name, {"phase": "Succeeded"})
