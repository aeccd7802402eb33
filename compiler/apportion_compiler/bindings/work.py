"""A workload with everything chosen, and the pod templates that all kinds are made of."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.bindings.options import SecretKey
from apportion_compiler.workload_shapes import Node
from apportion_policy.quantity import cpu_text, gpu_text, memory_text

SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a kind's template is filled with.

    Amounts are for each pod: millicores, bytes, thousandths of a GPU. A part of a GPU stands in `nvidia.com/gpu` at
    first, and the engine writes it in its own way. `placement` is merged into the spec of pods that get GPUs, or of all
    where none does.
    """

    name: str
    namespace: str
    n_workers: int
    image: str
    command: tuple[str, ...]
    cpu: int
    memory: int
    gpus: int
    secrets: tuple[SecretKey, ...]
    placement: Node
    schedule: str
    stays: bool
    """Whether the cluster autoscaler must not move its pods."""


def top_metadata(work: Work, suffix: str = "") -> Node:
    """Return the metadata of the workload itself."""
    return {"name": f"{work.name}{suffix}", "namespace": work.namespace}


def pod_template(
    work: Work,
    container: str,
    *,
    with_gpus: bool = True,
    restart: str | None = None,
    ports: Mapping[str, int] | None = None,
    command: tuple[str, ...] | None = None,
) -> Node:
    """Return a pod template with one container.

    Args:
        work: The workload.
        container: The container's name, which some kinds prescribe.
        with_gpus: Whether the pods get the GPUs; a head or a launcher does not.
        restart: `restartPolicy`, where the kind does not set it elsewhere.
        ports: Ports by name.
        command: What to run instead of the workload's command; empty for what the image runs.
    """
    run = work.command if command is None else command
    requests = {"cpu": cpu_text(work.cpu), "memory": memory_text(work.memory)}
    if with_gpus and work.gpus:
        requests[GPU_RESOURCE] = gpu_text(work.gpus)
    made: Node = {"name": container, "image": work.image}
    if run:
        made["command"] = list(run)
    if ports:
        made["ports"] = [{"name": name, "containerPort": port} for name, port in ports.items()]
    if work.secrets:
        made["env"] = [
            {"name": s.variable, "valueFrom": {"secretKeyRef": {"name": s.name, "key": s.key}}} for s in work.secrets
        ]
    # Equal, so that the pods are the last to be evicted for memory, and because GPUs take nothing else.
    made["resources"] = {"requests": requests, "limits": dict(requests)}
    spec: Node = {"containers": [made]}
    if restart is not None:
        spec["restartPolicy"] = restart
    if with_gpus or not work.gpus:
        # Engines change templates one by one.
        spec.update(deepcopy(work.placement))
    template: Node = {"spec": spec}
    if work.stays:
        template = {"metadata": {"annotations": {SAFE_TO_EVICT: "false"}}, **template}
    return template
