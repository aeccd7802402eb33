"""A workload after defaulting, and the pod templates of all kinds."""

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
    """Input of a kind's template.

    Amounts are for each pod: millicores, bytes, thousandths of a GPU. A fraction of a GPU is initially in
    `nvidia.com/gpu`, and the engine's binding converts it. `placement` is merged into the spec of pods with GPUs, or of
    all pods if none has GPUs.
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
    """Whether the cluster autoscaler must not evict its pods."""


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
        container: The container's name, which some kinds require.
        with_gpus: Whether the pods request the GPUs; a head or a launcher does not.
        restart: `restartPolicy`, if the kind does not set it elsewhere.
        ports: Ports by name.
        command: Command instead of the workload's; empty for that of the image.
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
    # Requests equal limits, so that the pods are the last to be evicted under memory pressure, and because GPUs require
    # it.
    made["resources"] = {"requests": requests, "limits": dict(requests)}
    spec: Node = {"containers": [made]}
    if restart is not None:
        spec["restartPolicy"] = restart
    if with_gpus or not work.gpus:
        # Engine bindings change each template separately.
        spec.update(deepcopy(work.placement))
    template: Node = {"spec": spec}
    if work.stays:
        template = {"metadata": {"annotations": {SAFE_TO_EVICT: "false"}}, **template}
    return template
