"""Names in workloads for Kubernetes' own scheduler: the queue is determined by the namespace.

`schedulerName` selects a profile of `kube-scheduler.yaml`. The default one places pods with GPUs; there are further
profiles if the policy places other pods differently, or distinguishes GPU models.
"""

from __future__ import annotations

from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.kubernetes_names import object_name

DEFAULT_SCHEDULER = "default-scheduler"
CPU_SCHEDULER = "apportion-cpu"


def workload_queue(program: Program, queue: Queue) -> str | None:
    """Return None: a workload belongs to the queue of its namespace."""
    return None


def schedulers(program: Program) -> tuple[str, ...]:
    """Return the names of the cluster's profiles, Kubernetes' default first."""
    models = gpu_models(program)
    names = [DEFAULT_SCHEDULER]
    if models or program.cpu_placement != program.gpu_placement:
        names.append(CPU_SCHEDULER)
    placed_alike = all(pool.gpu_placement == program.gpu_placement for pool in program.pools if pool.n_gpus)
    if len(models) > 1 or not placed_alike:
        names += [model_scheduler(model) for model in models]
    return tuple(names)


def model_scheduler(model: str) -> str:
    """Return the name of the profile whose pods run on one GPU model."""
    return object_name(f"apportion-gpu-{model}")


def gpu_models(program: Program) -> tuple[str, ...]:
    """Return the GPU models of the cluster's pools."""
    return tuple(sorted({pool.gpu_model for pool in program.pools if pool.gpu_model is not None}))
