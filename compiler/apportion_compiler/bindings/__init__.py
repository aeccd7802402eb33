"""Workloads bound to queues: templates of every kind for every engine, and existing manifests.

A backend determines what may run; a binding writes what a workload requires in order to run there. `bind.py` is the
entry point. Each kind of workload is a module of `kinds`; each engine has a module `binding` in its package.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_api.volcano.names import JOB_API
from apportion_compiler.bindings.binding import EngineBinding
from apportion_compiler.bindings.kind import Kind
from apportion_compiler.bindings.kinds.cronjob import cron_job
from apportion_compiler.bindings.kinds.deployment import deployment
from apportion_compiler.bindings.kinds.job import job
from apportion_compiler.bindings.kinds.jobset import job_set
from apportion_compiler.bindings.kinds.mpijob import mpi_job
from apportion_compiler.bindings.kinds.pod import pod
from apportion_compiler.bindings.kinds.pytorchjob import pytorch_job
from apportion_compiler.bindings.kinds.raycluster import ray_cluster
from apportion_compiler.bindings.kinds.rayjob import ray_job
from apportion_compiler.bindings.kinds.rayservice import ray_service
from apportion_compiler.bindings.kinds.tfjob import tf_job
from apportion_compiler.bindings.kinds.volcanojob import volcano_job
from apportion_compiler.engines.registry import EngineParts, engine_parts

_RAY = "rayproject/ray:2.46.0"
_SHELL = "busybox:1.37"
_PAUSE = "registry.k8s.io/pause:3.10"
_SLEEP = ("sleep", "120")
_COUNT_GPUS = ("python", "-c", "import ray; ray.init(); print(ray.cluster_resources())")

KINDS: Mapping[str, Kind] = {
    "Job": Kind("batch/v1", "Job", job, _SHELL, _SLEEP),
    "JobSet": Kind("jobset.x-k8s.io/v1alpha2", "JobSet", job_set, _SHELL, _SLEEP),
    "CronJob": Kind("batch/v1", "CronJob", cron_job, _SHELL, _SLEEP),
    "RayJob": Kind("ray.io/v1", "RayJob", ray_job, _RAY, _COUNT_GPUS),
    "RayCluster": Kind("ray.io/v1", "RayCluster", ray_cluster, _RAY),
    "RayService": Kind("ray.io/v1", "RayService", ray_service, _RAY, ("serve_app:app",), serves=True),
    "PyTorchJob": Kind(
        "kubeflow.org/v1", "PyTorchJob", pytorch_job, "pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime", _SLEEP
    ),
    "TFJob": Kind("kubeflow.org/v1", "TFJob", tf_job, "tensorflow/tensorflow:2.18.0-gpu", _SLEEP),
    "MPIJob": Kind("kubeflow.org/v2beta1", "MPIJob", mpi_job, "mpioperator/mpi-pi:openmpi", ("mpirun", "hostname")),
    "Deployment": Kind("apps/v1", "Deployment", deployment, _PAUSE, serves=True),
    "Pod": Kind("v1", "Pod", pod, _PAUSE),
    "VolcanoJob": Kind(JOB_API, "Job", volcano_job, _SHELL, _SLEEP, engine="volcano"),
}
"""Kinds by their command-line name: that of the API, except for Volcano's own Job."""

ENGINES: Mapping[str, EngineBinding] = EngineParts(engine_parts("binding", "BINDING"))
"""By the engine's name."""
