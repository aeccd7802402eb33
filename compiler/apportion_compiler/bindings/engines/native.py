"""Kubernetes' own scheduler: the namespace is the queue; the class and a profile of the scheduler are all that is written."""

from __future__ import annotations

from apportion_compiler.backends.native.names import DEFAULT_SCHEDULER, workload_queue, workload_scheduler
from apportion_compiler.bindings.binding import Binding, EngineBinding
from apportion_compiler.bindings.engines.marks import give_class
from apportion_compiler.bindings.requests import pod_requests
from apportion_compiler.bindings.work import GPU_RESOURCE
from apportion_compiler.workload_shapes import Node, pod_sets, section


def _bind(binding: Binding, workloads: tuple[Node, ...]) -> tuple[Node, ...]:
    for workload in workloads:
        give_class(binding, workload)
        for pods in pod_sets(workload):
            with_gpus = GPU_RESOURCE in pod_requests(pods.spec)
            scheduler = workload_scheduler(binding.program, gpu_model=binding.gpu_model, with_gpus=with_gpus)
            # What Kubernetes fills in need not be written, but another name must go.
            if scheduler != DEFAULT_SCHEDULER or "schedulerName" in pods.spec:
                section(pods.template, "spec")["schedulerName"] = scheduler
    return workloads


NATIVE = EngineBinding("native", workload_queue, _bind)
