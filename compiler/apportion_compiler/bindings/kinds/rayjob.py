"""ray.io/v1 RayJob: a Ray cluster for one entry point."""

from __future__ import annotations

import shlex

from apportion_compiler.bindings.kinds.ray import API_VERSION, ray_cluster_spec
from apportion_compiler.bindings.work import Work, top_metadata
from apportion_compiler.workload_shapes import Node

SUBMISSION_MODE = "HTTPMode"
"""The operator submits by itself. In K8sJobMode, KubeRay's default, a further pod does, made after the gang started:
it would need a place in the queue of its own, and KubeRay refuses it with KAI."""
_TTL_S = 10


def ray_job(work: Work) -> tuple[Node, ...]:
    """Return the RayJob; its cluster goes when it is done."""
    return (
        {
            "apiVersion": API_VERSION,
            "kind": "RayJob",
            "metadata": top_metadata(work),
            "spec": {
                "entrypoint": shlex.join(work.command),
                "submissionMode": SUBMISSION_MODE,
                "shutdownAfterJobFinishes": True,
                "ttlSecondsAfterFinished": _TTL_S,
                "rayClusterSpec": ray_cluster_spec(work),
            },
        },
    )
