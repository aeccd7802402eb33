"""ray.io/v1 RayService: a Ray cluster that serves."""

from __future__ import annotations

import yaml

from apportion_compiler.bindings.defaulted_workload import Work, top_metadata
from apportion_compiler.bindings.kinds.ray import API_VERSION, ray_cluster_spec
from apportion_compiler.workload_shapes import Node


def ray_service(work: Work) -> tuple[Node, ...]:
    """Return the RayService of one application; the command is its import path."""
    serve = {"applications": [{"name": "app", "import_path": work.command[0], "route_prefix": "/"}]}
    return (
        {
            "apiVersion": API_VERSION,
            "kind": "RayService",
            "metadata": top_metadata(work),
            "spec": {
                "serveConfigV2": yaml.safe_dump(serve, sort_keys=False),
                "rayClusterConfig": ray_cluster_spec(work, serves=True),
            },
        },
    )
