"""kubeflow.org/v1 TFJob: only workers, the first of which is the chief."""

from __future__ import annotations

from apportion_compiler.bindings.defaulted_workload import Work, pod_template, top_metadata
from apportion_compiler.workload_shapes import Node


def tf_job(work: Work) -> tuple[Node, ...]:
    """Return the TFJob."""
    worker: Node = {
        "replicas": work.n_workers,
        "restartPolicy": "OnFailure",
        # The operator looks for a container of this name.
        "template": pod_template(work, "tensorflow"),
    }
    return (
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "TFJob",
            "metadata": top_metadata(work),
            "spec": {"tfReplicaSpecs": {"Worker": worker}},
        },
    )
