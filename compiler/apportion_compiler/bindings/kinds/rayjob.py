"""ray.io/v1 RayJob: a Ray cluster for one entry point."""

from __future__ import annotations

import shlex

from apportion_compiler.bindings.defaulted_workload import Work, top_metadata
from apportion_compiler.bindings.kinds.ray import API_VERSION, ray_cluster_spec
from apportion_compiler.workload_shapes import Node

SUBMISSION_MODE = "HTTPMode"
"""The operator submits the job.

In K8sJobMode, KubeRay's default, a separate pod submits it after the gang has started: that pod would need its own
place in the queue, and KubeRay rejects it with KAI.
"""
_TTL_S = 10


def ray_job(work: Work) -> tuple[Node, ...]:
    """Return the RayJob; its cluster is deleted when the job finishes."""
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
