"""batch.volcano.sh/v1alpha1 Job, Volcano's own kind, which is always a gang."""

from __future__ import annotations

from apportion_api.volcano.names import JOB_API
from apportion_compiler.bindings.defaulted_workload import Work, pod_template, top_metadata
from apportion_compiler.workload_shapes import Node


def volcano_job(work: Work) -> tuple[Node, ...]:
    """Return the Job, with one task."""
    task: Node = {
        "name": "worker",
        "replicas": work.n_workers,
        "template": pod_template(work, "worker", restart="Never"),
    }
    return (
        {
            "apiVersion": JOB_API,
            "kind": "Job",
            "metadata": top_metadata(work),
            "spec": {"minAvailable": work.n_workers, "tasks": [task]},
        },
    )
