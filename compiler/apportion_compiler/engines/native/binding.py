"""Kubernetes' own scheduler: the namespace is the queue, so that the class is all that is written.

A profile of the scheduler that a manifest names is kept. None is chosen: profiles are there only where the control plane
takes their file, and pods that name one which is not there are never placed.
"""

from __future__ import annotations

from apportion_compiler.bindings.binding import Binding, EngineBinding
from apportion_compiler.bindings.workload_fields import give_class, templates
from apportion_compiler.engine_rules.workload_rules.workload_context import Workload
from apportion_compiler.engines.native.names import DEFAULT_SCHEDULER, schedulers, workload_queue
from apportion_compiler.workload_shapes import Node, found, section


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


BINDING = EngineBinding("native", workload_queue, _bind, starts_together=_never_together)
