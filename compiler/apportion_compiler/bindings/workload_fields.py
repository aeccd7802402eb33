"""Setters of labels, annotations and pod fields for the engines' bindings; they overwrite existing values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from apportion_compiler.bindings.binding import Binding
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.engine_rules.workload_rules.workload_context import Workload
from apportion_compiler.kubernetes_names import object_name
from apportion_compiler.plain_objects import integer
from apportion_compiler.workload_shapes import Node, pod_sets, section, shape_of


def label(node: Node, labels: Mapping[str, str]) -> None:
    """Set labels of an object or a pod template."""
    if labels:
        section(node, "metadata", "labels").update(labels)


def annotate(node: Node, annotations: Mapping[str, str]) -> None:
    """Set annotations of an object or a pod template."""
    if annotations:
        section(node, "metadata", "annotations").update(annotations)


def owners(workload: Node) -> tuple[Node, ...]:
    """Return the nodes with metadata that own pods: the workload, and the owners that it creates."""
    shape = shape_of(workload)
    return (workload,) if shape is None else tuple(shape.owners(workload))


def templates(workload: Node) -> tuple[Node, ...]:
    """Return the pod templates of a workload, without duplicates; a bare pod is its own template."""
    return tuple(pods.template for pods in pod_sets(workload))


def n_pods(workloads: Iterable[Node]) -> int:
    """Return the total number of pods of workloads."""
    return sum(pods.count for workload in workloads for pods in pod_sets(workload))


def schedule_by(workload: Node, scheduler: str) -> None:
    """Set the scheduler of all pods."""
    for template in templates(workload):
        section(template, "spec")["schedulerName"] = scheduler


def gang_name(binding: Binding) -> str:
    """Return the name of the gang.

    Raises:
        BindingError: If the workload has no fixed name: all workloads created from its manifest would be one gang.
    """
    if binding.gang is None:
        raise BindingError("a gang needs a name: set metadata.name instead of generateName")
    return binding.gang


def give_class(binding: Binding, workload: Node) -> None:
    """Set the priority class of the pods, unless the policy has no classes."""
    name = class_name(binding)
    if name is not None:
        for template in templates(workload):
            section(template, "spec")["priorityClassName"] = name


def class_name(binding: Binding) -> str | None:
    """Return the name of the PriorityClass object."""
    return None if binding.priority_class is None else object_name(binding.priority_class.name)


def suspend(workload: Node) -> None:
    """Suspend a workload until the engine admits it, if its kind supports that."""
    shape = shape_of(workload)
    if shape is not None and shape.suspend is not None:
        section(workload, *shape.suspend[:-1])[shape.suspend[-1]] = True


def is_kind(workload: Node, group: str, *kinds: str) -> bool:
    """Return whether a workload is of one of the kinds of an API group; of any kind of the group if none is given."""
    shape = shape_of(workload)
    return shape is not None and shape.group == group and (not kinds or shape.kind in kinds)


def is_gang(workload: Node) -> bool:
    """Return whether the pods of a workload are useful only together, unlike the replicas of a server."""
    return not is_kind(workload, "apps") and not is_kind(workload, "", "ReplicationController")


def is_whole_gang(workload: Workload, annotation: str, *, by_pods_alone: bool = False) -> bool:
    """Return whether a workload is a gang of all of its pods, by the minimum number in an annotation.

    Args:
        workload: The workload.
        annotation: The engine's key.
        by_pods_alone: Whether no kind is implicitly a gang, because the engine evaluates only pods.
    """
    stated = workload.values_of(annotation, annotation=True)
    if by_pods_alone or workload.is_of("batch") or workload.is_of("jobset.x-k8s.io"):
        least = [int(value) for value in stated if value.isdecimal()]
        return bool(stated) and all(count >= workload.n_pods for count in least)
    min_available = integer(workload.manifest, "spec", "minAvailable")
    return min_available is None or min_available >= workload.n_pods
