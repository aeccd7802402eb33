"""Koordinator: quota, preemptibility and gang only on the pods, because its scheduler does not read owners.

Annotations of the pods define a gang (apis/extension/coscheduling.go at a7a1b76b), so no PodGroup is needed; its name
is that of the workload, which is unique for its kind in the namespace.
"""

from __future__ import annotations

from apportion_api.koordinator import names
from apportion_api.koordinator.names import GANG_MIN_ANNOTATION, GANG_NAME_ANNOTATION
from apportion_compiler.bindings.binding import Binding, EngineBinding
from apportion_compiler.bindings.gang_minimum import gang_minimum, minimum_notes
from apportion_compiler.bindings.workload_fields import (
    annotate,
    gang_name,
    give_class,
    is_gang,
    is_whole_gang,
    label,
    n_pods,
    schedule_by,
    templates,
)
from apportion_compiler.engine_rules.workload_rules.workload_context import Workload
from apportion_compiler.workload_shapes import Node


def _bind(binding: Binding, workloads: tuple[Node, ...]) -> tuple[Node, ...]:
    count = n_pods(workloads)
    for workload in workloads:
        for template in templates(workload):
            label(template, {names.QUEUE_LABEL: binding.queue_name, **_preemptible(binding)})
            if count > 1 and is_gang(workload):
                minimum = gang_minimum(template, GANG_MIN_ANNOTATION, count)
                annotate(template, {GANG_NAME_ANNOTATION: gang_name(binding), **minimum})
        give_class(binding, workload)
        schedule_by(workload, names.SCHEDULER)
    return workloads


def _preemptible(binding: Binding) -> dict[str, str]:
    if binding.priority_class is None:
        return {}
    return {names.PREEMPTIBLE_LABEL: str(binding.priority_class.preemptible).lower()}


def _starts_together(workload: Workload) -> bool:
    return is_whole_gang(workload, GANG_MIN_ANNOTATION, by_pods_alone=True)


BINDING = EngineBinding(
    "koordinator",
    _bind,
    starts_together=_starts_together,
    remarks=minimum_notes(GANG_MIN_ANNOTATION),
    queue_keys=(names.QUEUE_LABEL,),
)
