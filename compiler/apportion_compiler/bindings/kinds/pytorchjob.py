"""kubeflow.org/v1 PyTorchJob: a master and further workers, all with GPUs."""

from __future__ import annotations

from apportion_compiler.bindings.defaulted_workload import Work, pod_template, top_metadata
from apportion_compiler.workload_shapes import Node


def pytorch_job(work: Work) -> tuple[Node, ...]:
    """Return the PyTorchJob; the master is one of the requested workers."""
    replicas: Node = {"Master": _replicas(work, 1)}
    if work.n_workers > 1:
        replicas["Worker"] = _replicas(work, work.n_workers - 1)
    return (
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": top_metadata(work),
            "spec": {"pytorchReplicaSpecs": replicas},
        },
    )


def _replicas(work: Work, count: int) -> Node:
    # The operator looks for a container of this name.
    return {"replicas": count, "restartPolicy": "OnFailure", "template": pod_template(work, "pytorch")}
