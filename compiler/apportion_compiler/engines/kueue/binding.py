"""Kueue: the LocalQueue and the WorkloadPriorityClass as labels of the topmost object, which is created suspended.

Kueue admits all pods of a workload or none, so that a gang needs no setting; a label combines bare pods into one
workload. Its webhook rejects what it cannot count (pkg/controller/jobs/{rayjob,raycluster}).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_api.kueue.names import (
    COMPLETIONS_ANNOTATION,
    MAX_RUN_DURATION_ANNOTATION,
    MIN_PARALLELISM_ANNOTATION,
    POD_GROUP_COUNT_ANNOTATION,
    POD_GROUP_LABEL,
    PRIORITY_CLASS_LABEL,
    QUEUE_LABEL,
)
from apportion_compiler.bindings.binding import Binding, EngineBinding
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.bindings.workload_fields import (
    annotate,
    class_name,
    gang_name,
    give_class,
    is_kind,
    label,
    owners,
    suspend,
    templates,
)
from apportion_compiler.engine_rules.workload_rules.workload_context import Workload, context_of
from apportion_compiler.engines.kueue import names
from apportion_compiler.engines.kueue.emit import BACKEND
from apportion_compiler.engines.kueue.flavor_choice import misplaced
from apportion_compiler.engines.kueue.rules.potential_quota import unreachable
from apportion_compiler.engines.kueue.rules.queued_pod_sets import several_pod_sets
from apportion_compiler.workload_shapes import Node, found, pod_sets, section

_MAX_POD_SETS = 18


def _bind(binding: Binding, workloads: tuple[Node, ...]) -> tuple[Node, ...]:
    for workload in workloads:
        _countable(workload)
        # The Jobs of a CronJob wait in the queue; the label on the CronJob is for users to see.
        for queued in owners(workload) if is_kind(workload, "batch") else (workload,):
            _name(binding, queued)
        give_class(binding, workload)
        for template in templates(workload):
            if found(template, "spec", "schedulerName") is not None:
                section(template, "spec")["schedulerName"] = names.SCHEDULER
        suspend(workload)
        if len(workloads) > 1:
            label(workload, {POD_GROUP_LABEL: gang_name(binding)})
            annotate(workload, {POD_GROUP_COUNT_ANNOTATION: str(len(workloads))})
    return workloads


def _name(binding: Binding, queued: Node) -> None:
    name = class_name(binding)
    local = names.local_queue(binding.queue, binding.namespace)
    label(queued, {QUEUE_LABEL: local or binding.queue_name})
    if name is not None:
        label(queued, {PRIORITY_CLASS_LABEL: name})
    if binding.plan is not None and binding.plan.max_run_duration is not None:
        annotate(queued, {MAX_RUN_DURATION_ANNOTATION: str(binding.plan.max_run_duration)})


def _countable(workload: Node) -> None:
    """Reject what the webhook rejects, and set what it requires."""
    if not is_kind(workload, "ray.io"):
        return
    count = len(pod_sets(workload))
    if count > _MAX_POD_SETS:
        raise BindingError(f"Kueue supports at most {_MAX_POD_SETS} pod sets, but this workload has {count}")
    clusters = (("spec", "rayClusterSpec"), ("spec", "rayClusterConfig"), ("spec",))
    if any(found(workload, *path, "enableInTreeAutoscaling") is True for path in clusters):
        raise BindingError(
            "Kueue does not support Ray clusters with in-tree autoscaling: remove enableInTreeAutoscaling"
        )
    if is_kind(workload, "ray.io", "RayJob"):
        if found(workload, "spec", "clusterSelector"):
            raise BindingError("Kueue does not support a RayJob that uses an existing cluster: remove clusterSelector")
        section(workload, "spec")["shutdownAfterJobFinishes"] = True


def _elastic_job(workload: Node, least: int, most: int) -> None:
    annotate(workload, {MIN_PARALLELISM_ANNOTATION: str(least), COMPLETIONS_ANNOTATION: "true"})


def _starts_together(workload: Workload) -> bool:
    return not workload.values_of(MIN_PARALLELISM_ANNOTATION, annotation=True)


def _unreachable(binding: Binding, workloads: Sequence[Node]) -> Iterator[str]:
    """Yield notes on quotas that a workload cannot use, and nodes that differ from the requested ones."""
    context = context_of("kueue", workloads, BACKEND.emit(binding.program).manifests)
    for verdict in (*unreachable(context), *several_pod_sets(context)):
        yield verdict.message


BINDING = EngineBinding(
    "kueue",
    _bind,
    workload_queue=names.workload_queue,
    asks_for_nodes=True,
    elastic={"Job": _elastic_job},
    scales_ray=False,
    starts_together=_starts_together,
    misplaced=misplaced,
    unreachable=_unreachable,
    queue_keys=(QUEUE_LABEL,),
)
