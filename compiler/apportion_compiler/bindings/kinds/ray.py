"""What the three kinds of KubeRay (ray.io/v1) have in common: a cluster with a head and one group of workers."""

from __future__ import annotations

import re

from apportion_compiler.bindings.defaulted_workload import Work, pod_template
from apportion_compiler.workload_shapes import Node

API_VERSION = "ray.io/v1"
_VERSION = re.compile(r":(\d+\.\d+\.\d+)")
_PORTS = {"gcs": 6379, "dashboard": 8265, "client": 10001}


def ray_cluster_spec(work: Work, *, serves: bool = False) -> Node:
    """Return the spec of a RayCluster. The head has no GPU and, if the workers have GPUs, accepts no tasks."""
    # Regardless of the command, Ray starts the containers itself.
    workers = pod_template(work, "ray-worker", command=())
    ports = {**_PORTS, "serve": 8000} if serves else _PORTS
    head = pod_template(work, "ray-head", with_gpus=False, ports=ports, command=())
    version = _VERSION.search(work.image)
    return {
        **({"rayVersion": version[1]} if version else {}),
        "headGroupSpec": {
            "rayStartParams": {"dashboard-host": "0.0.0.0", **({"num-cpus": "0"} if work.gpus else {})},  # noqa: S104
            "template": head,
        },
        "workerGroupSpecs": [
            {
                "groupName": "workers",
                "replicas": work.n_workers,
                "minReplicas": work.n_workers,
                "maxReplicas": work.n_workers,
                "rayStartParams": {"num-gpus": "1"} if 0 < work.gpus < 1000 else {},
                "template": workers,
            }
        ],
    }
