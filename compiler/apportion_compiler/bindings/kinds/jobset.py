"""jobset.x-k8s.io/v1alpha2 JobSet: Jobs that start and fail together."""

from __future__ import annotations

from apportion_compiler.bindings.defaulted_workload import Work, top_metadata
from apportion_compiler.bindings.kinds.job import job_spec
from apportion_compiler.workload_shapes import Node


def job_set(work: Work) -> tuple[Node, ...]:
    """Return the JobSet: one Job with all workers, whose failure fails the set."""
    return (
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": top_metadata(work),
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "workers",
                        "replicas": 1,
                        "template": {"spec": {"backoffLimit": 0, **job_spec(work, "Never")}},
                    }
                ]
            },
        },
    )
