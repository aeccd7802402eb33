"""Volcano: the queue as an annotation of pods and their owners, in a Volcano Job's spec, as a label of Ray's kinds.

Volcano's controller creates a PodGroup for the pods of one owner; the size of the gang is in the owner's annotation for
Jobs and Deployments (pkg/controllers/podgroup at ed72c7c81), and is set by KubeRay for its own kinds
(ray-operator/controllers/ray/batchscheduler/volcano). Other kinds get a PodGroup with the workload's name, which the
training and MPI operators adopt if they are configured to use Volcano.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_api.kubernetes.operators import RAY_PRIORITY_CLASS_LABEL
from apportion_api.volcano import names
from apportion_api.volcano.names import BATCH_GROUP, MIN_MEMBER_ANNOTATION
from apportion_compiler.bindings.binding import Binding, EngineBinding
from apportion_compiler.bindings.gang_minimum import gang_minimum, kept_minimum, kept_minimums
from apportion_compiler.bindings.workload_fields import (
    annotate,
    class_name,
    gang_name,
    give_class,
    is_kind,
    is_whole_gang,
    label,
    n_pods,
    owners,
    schedule_by,
    templates,
)
from apportion_compiler.engine_rules.workload_rules.workload_context import Workload
from apportion_compiler.kubernetes_names import object_name
from apportion_compiler.plain_objects import integer
from apportion_compiler.workload_shapes import Node, section

_LEAST_FIELD = ("spec", "runPolicy", "schedulingPolicy", "minAvailable")


def _bind(binding: Binding, workloads: tuple[Node, ...]) -> tuple[Node, ...]:
    for workload in workloads:
        annotations = {names.QUEUE_ANNOTATION: binding.queue_name, **_preemptable(binding)}
        for node in (*owners(workload), *templates(workload)):
            annotate(node, annotations)
        give_class(binding, workload)
        schedule_by(workload, names.SCHEDULER)
        _in_its_own_words(binding, workload)
    if not _needs_pod_group(workloads):
        return workloads
    for workload in workloads:
        for template in templates(workload):
            annotate(template, {names.GROUP_ANNOTATION: gang_name(binding)})
    return (_pod_group(binding, _least(workloads)), *workloads)


def _preemptable(binding: Binding) -> dict[str, str]:
    if binding.priority_class is None:
        return {}
    return {names.PREEMPTABLE: str(binding.priority_class.preemptible).lower()}


def _in_its_own_words(binding: Binding, workload: Node) -> None:
    """Set the fields of kinds that have their own fields for queue, class and gang."""
    class_ = class_name(binding)
    if is_kind(workload, "ray.io"):
        label(workload, {names.QUEUE_LABEL: binding.queue_name})
        if class_ is not None:
            label(workload, {RAY_PRIORITY_CLASS_LABEL: class_})
    elif is_kind(workload, BATCH_GROUP):
        spec = section(workload, "spec")
        spec.update({"schedulerName": names.SCHEDULER, "queue": binding.queue_name})
        if class_ is not None:
            spec["priorityClassName"] = class_
    elif is_kind(workload, "kubeflow.org"):
        policy = section(workload, "spec", "runPolicy", "schedulingPolicy")
        policy["queue"] = binding.queue_name
        policy["minAvailable"] = _least((workload,))
        if class_ is not None:
            policy["priorityClass"] = class_
    elif is_kind(workload, "batch") or is_kind(workload, "jobset.x-k8s.io"):
        for owner in owners(workload):
            annotate(owner, gang_minimum(owner, MIN_MEMBER_ANNOTATION, n_pods((workload,))))


def _least(workloads: Sequence[Node]) -> int:
    """Return the minimum number of pods: that of a Kubeflow job if it declares one, or else all."""
    count = n_pods(workloads)
    declared = {integer(workload, *_LEAST_FIELD) for workload in workloads if is_kind(workload, "kubeflow.org")}
    return next((least for least in declared if least is not None and 1 <= least <= count), count)


def _kept_minimums(_: Binding, workloads: Sequence[Node]) -> Iterator[str]:
    yield from kept_minimums(MIN_MEMBER_ANNOTATION, workloads)
    least, count = _least(workloads), n_pods(workloads)
    if least < count:
        yield kept_minimum(".".join(_LEAST_FIELD), least, count)


def _needs_pod_group(workloads: tuple[Node, ...]) -> bool:
    if len(workloads) > 1:
        return True
    return any(is_kind(w, "kubeflow.org") or _has_several_jobs(w) for w in workloads)


def _has_several_jobs(workload: Node) -> bool:
    _, *jobs = owners(workload)
    return is_kind(workload, "jobset.x-k8s.io") and len(jobs) > 1


def _pod_group(binding: Binding, count: int) -> Node:
    spec: Node = {"queue": binding.queue_name, "minMember": count}
    name = class_name(binding)
    if name is not None:
        spec["priorityClassName"] = name
    group: Node = {
        "apiVersion": names.SCHEDULING_API,
        "kind": "PodGroup",
        "metadata": {"name": object_name(gang_name(binding)), "namespace": binding.namespace},
        "spec": spec,
    }
    annotate(group, _preemptable(binding))
    return group


def _elastic_job(workload: Node, least: int, most: int) -> None:
    annotate(workload, {MIN_MEMBER_ANNOTATION: str(least)})


def _elastic_volcano_job(workload: Node, least: int, most: int) -> None:
    section(workload, "spec")["minAvailable"] = least


def _starts_together(workload: Workload) -> bool:
    return is_whole_gang(workload, MIN_MEMBER_ANNOTATION)


BINDING = EngineBinding(
    "volcano",
    _bind,
    elastic={"Job": _elastic_job, "VolcanoJob": _elastic_volcano_job},
    starts_together=_starts_together,
    remarks=_kept_minimums,
    queue_keys=(names.QUEUE_ANNOTATION, names.QUEUE_LABEL),
    queue_fields=(("spec", "queue"), ("spec", "runPolicy", "schedulingPolicy", "queue")),
)
