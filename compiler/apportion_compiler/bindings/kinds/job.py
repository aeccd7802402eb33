"""batch/v1 Job: `n_workers` pods that each run once."""

from __future__ import annotations

from apportion_compiler.bindings.defaulted_workload import Work, pod_template, top_metadata
from apportion_compiler.workload_shapes import Node


def job(work: Work) -> tuple[Node, ...]:
    """Return the Job."""
    return ({"apiVersion": "batch/v1", "kind": "Job", "metadata": top_metadata(work), "spec": job_spec(work, "Never")},)


def job_spec(work: Work, restart: str) -> Node:
    """Return the spec of a Job; multiple workers are indexed."""
    spec: Node = {"parallelism": work.n_workers, "completions": work.n_workers}
    if work.n_workers > 1:
        spec["completionMode"] = "Indexed"
    spec["template"] = pod_template(work, "worker", restart=restart)
    return spec
