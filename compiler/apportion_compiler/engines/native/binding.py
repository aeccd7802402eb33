"""Kubernetes' own scheduler: the namespace determines the queue, so only the priority class is set.

A scheduler profile in a manifest is kept. By default none is set: profiles exist only if the control plane accepts
their file, and pods with an unknown profile are never placed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.bindings.binding import Binding, EngineBinding
from apportion_compiler.bindings.requests import pod_requests
from apportion_compiler.bindings.workload_fields import give_class, templates
from apportion_compiler.engine_rules.workload_rules.workload_context import Workload
from apportion_compiler.engines.native.names import CPU_SCHEDULER, DEFAULT_SCHEDULER, schedulers, workload_queue
from apportion_compiler.workload_shapes import Node, found, pod_sets, section

_SPREAD = "spread"


def _bind(binding: Binding, workloads: tuple[Node, ...]) -> tuple[Node, ...]:
    profiles = schedulers(binding.program)
    for workload in workloads:
        give_class(binding, workload)
        for template in templates(workload):
            if found(template, "spec", "schedulerName") not in {None, *profiles}:
                section(template, "spec")["schedulerName"] = DEFAULT_SCHEDULER
    return workloads


def _never_together(_: Workload) -> bool:
    return False


def _unspread(binding: Binding, workloads: Sequence[Node]) -> Iterator[str]:
    """Yield a clause if pods without GPUs are bin-packed although the policy spreads them.

    kube-scheduler spreads pods that name a profile for it; the default profile bin-packs.
    """
    program = binding.program
    if program.cpu_placement != _SPREAD or CPU_SCHEDULER not in schedulers(program):
        return
    for workload in workloads:
        for pods in pod_sets(workload):
            scheduler = found(pods.spec, "schedulerName")
            if pods.count > 1 and not pod_requests(pods.spec).get(GPU_RESOURCE) and scheduler != CPU_SCHEDULER:
                yield (
                    "the pods are packed, although the policy spreads workloads without GPUs: set schedulerName: "
                    f"{CPU_SCHEDULER} if the control plane uses kube-scheduler.yaml"
                )
                return


BINDING = EngineBinding(
    "native", _bind, workload_queue=workload_queue, starts_together=_never_together, has_gangs=False, remarks=_unspread
)
