"""ray.io/v1 RayCluster."""

from __future__ import annotations

from apportion_compiler.bindings.defaulted_workload import Work, top_metadata
from apportion_compiler.bindings.kinds.ray import API_VERSION, ray_cluster_spec
from apportion_compiler.workload_shapes import Node


def ray_cluster(work: Work) -> tuple[Node, ...]:
    """Return the RayCluster."""
    return (
        {
            "apiVersion": API_VERSION,
            "kind": "RayCluster",
            "metadata": top_metadata(work),
            "spec": ray_cluster_spec(work),
        },
    )
