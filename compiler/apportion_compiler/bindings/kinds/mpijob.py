"""kubeflow.org/v2beta1 MPIJob, of the MPI operator: a launcher without GPUs, and workers."""

from __future__ import annotations

from apportion_compiler.bindings.defaulted_workload import Work, pod_template, top_metadata
from apportion_compiler.workload_shapes import Node


def mpi_job(work: Work) -> tuple[Node, ...]:
    """Return the MPIJob; the launcher runs the command, the workers wait for it."""
    return (
        {
            "apiVersion": "kubeflow.org/v2beta1",
            "kind": "MPIJob",
            "metadata": top_metadata(work),
            "spec": {
                "slotsPerWorker": max(1, work.gpus // 1000),
                "runPolicy": {"cleanPodPolicy": "Running"},
                "mpiReplicaSpecs": {
                    "Launcher": {"replicas": 1, "template": pod_template(work, "launcher", with_gpus=False)},
                    "Worker": {"replicas": work.n_workers, "template": pod_template(work, "worker", command=())},
                },
            },
        },
    )
