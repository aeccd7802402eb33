"""YuniKorn: an application, its queue and its task groups on the pods; KubeRay copies the first two from its objects.

A gang is a list of task groups on the first pod of an application; for each, YuniKorn first creates placeholder pods,
which need the tolerations and selectors of the real ones (k8shim docs, gang scheduling).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from apportion_api.yunikorn import names
from apportion_compiler.bindings.binding import Binding, EngineBinding
from apportion_compiler.bindings.requests import pod_requests, quantities
from apportion_compiler.bindings.workload_fields import (
    annotate,
    gang_name,
    give_class,
    is_gang,
    is_kind,
    is_whole_gang,
    label,
    n_pods,
    schedule_by,
)
from apportion_compiler.engine_rules.workload_rules.workload_context import Workload
from apportion_compiler.engines.yunikorn.names import application_id
from apportion_compiler.kubernetes_names import is_label_value
from apportion_compiler.workload_shapes import Node, PodSet, pod_sets

_UNNAMED = "workers"
_PLACING_FIELDS = ("nodeSelector", "tolerations", "affinity")


def _bind(binding: Binding, workloads: tuple[Node, ...]) -> tuple[Node, ...]:
    sets = [pods for workload in workloads for pods in pod_sets(workload) if pods.count]
    groups = ""
    if n_pods(workloads) > 1 and all(is_gang(workload) for workload in workloads):
        # Task groups belong to an application, which is identified by its name.
        gang_name(binding)
        groups = json.dumps(_task_groups(sets, bare=len(workloads) > 1), separators=(",", ":"))
    for workload in workloads:
        if is_kind(workload, "ray.io"):
            _name(binding, workload)
        for pods in pod_sets(workload):
            _name(binding, pods.template)
            if binding.priority_class is not None and not binding.priority_class.preemptible:
                annotate(pods.template, {names.ALLOW_PREEMPTION_ANNOTATION: "false"})
            if groups and pods.count:
                group = {names.TASK_GROUP_NAME_ANNOTATION: _group_name(pods), names.TASK_GROUPS_ANNOTATION: groups}
                annotate(pods.template, group)
        give_class(binding, workload)
        schedule_by(workload, names.SCHEDULER)
    return workloads


def _name(binding: Binding, node: Node) -> None:
    """Set queue and application: as labels if the names are valid values, and as annotations otherwise."""
    keys = {names.QUEUE_LABEL: binding.queue_name}
    # Without an id, YuniKorn's admission controller generates one.
    if binding.gang is not None:
        keys[names.APP_ID_LABEL] = application_id(binding.namespace, binding.gang)
    label(node, {key: value for key, value in keys.items() if is_label_value(value)})
    annotate(node, {key: value for key, value in keys.items() if not is_label_value(value)})


def _task_groups(sets: Sequence[PodSet], *, bare: bool) -> list[Node]:
    if bare:
        return [_task_group(sets[0], len(sets))]
    return [_task_group(pods, pods.count) for pods in sets]


def _task_group(pods: PodSet, count: int) -> Node:
    group: Node = {"name": _group_name(pods), "minMember": count}
    group["minResource"] = quantities(pod_requests(pods.spec))
    group.update({field: pods.spec[field] for field in _PLACING_FIELDS if field in pods.spec})
    return group


def _group_name(pods: PodSet) -> str:
    # It becomes part of pod names.
    return pods.name.lower() or _UNNAMED


def _starts_together(workload: Workload) -> bool:
    return is_whole_gang(workload, names.TASK_GROUPS_ANNOTATION, by_pods_alone=True)


BINDING = EngineBinding(
    "yunikorn",
    _bind,
    starts_together=_starts_together,
    queue_keys=(names.QUEUE_LABEL, names.OLD_QUEUE_LABEL),
)
