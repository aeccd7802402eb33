"""What the engines' modules write with: labels, annotations and pod fields, over whatever stands there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from apportion_compiler.bindings.binding import Binding
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.engine_rules.workload_rules.workload_context import Workload
from apportion_compiler.kubernetes_names import object_name
from apportion_compiler.plain_objects import integer
from apportion_compiler.workload_shapes import Node, pod_sets, section, shape_of


def label(node: Node, labels: Mapping[str, str]) -> None:
    """Write labels into an object or a pod template."""
    if labels:
        section(node, "metadata", "labels").update(labels)


def annotate(node: Node, annotations: Mapping[str, str]) -> None:
    """Write annotations into an object or a pod template."""
    if annotations:
        section(node, "metadata", "annotations").update(annotations)


def owners(workload: Node) -> tuple[Node, ...]:
    """Return the workload and what it makes that owns pods, as nodes with metadata."""
    shape = shape_of(workload)
    return (workload,) if shape is None else tuple(shape.owners(workload))


def templates(workload: Node) -> tuple[Node, ...]:
    """Return the pod templates of a workload, each once; a bare pod is its own."""
    return tuple(pods.template for pods in pod_sets(workload))


def n_pods(workloads: Iterable[Node]) -> int:
    """Return how many pods workloads have in all."""
    return sum(pods.count for workload in workloads for pods in pod_sets(workload))


def schedule_by(workload: Node, scheduler: str) -> None:
    """Have all pods placed by a scheduler."""
    for template in templates(workload):
        section(template, "spec")["schedulerName"] = scheduler


def gang_name(binding: Binding) -> str:
    """Return the name of the gang.

    Raises:
        BindingError: If the workload has none of its own: all that its manifest makes would be one gang.
    """
    if binding.gang is None:
        raise BindingError("a gang needs a name: set metadata.name instead of generateName")
    return binding.gang


def give_class(binding: Binding, workload: Node) -> None:
    """Write the priority class into the pods; nothing where the policy has none."""
    name = class_name(binding)
    if name is not None:
        for template in templates(workload):
            section(template, "spec")["priorityClassName"] = name


def class_name(binding: Binding) -> str | None:
    """Return the name of the class' object."""
    return None if binding.priority_class is None else object_name(binding.priority_class.name)


def suspend(workload: Node) -> None:
    """Keep a workload from making pods until the engine admits it, where its kind can wait so."""
    shape = shape_of(workload)
    if shape is not None and shape.suspend is not None:
        section(workload, *shape.suspend[:-1])[shape.suspend[-1]] = True


def is_kind(workload: Node, group: str, *kinds: str) -> bool:
    """Tell whether a workload is of one of the kinds of a group; of any of it where none is named."""
    shape = shape_of(workload)
    return shape is not None and shape.group == group and (not kinds or shape.kind in kinds)


def is_gang(workload: Node) -> bool:
    """Tell whether the pods of a workload are of use together only: not those of a server, which stand alone."""
    return not is_kind(workload, "apps") and not is_kind(workload, "", "ReplicationController")


def is_whole_gang(workload: Workload, annotation: str, *, by_pods_alone: bool = False) -> bool:
    """Tell whether a workload is a gang of all of its pods, by the least number of them that an annotation states.

    Args:
        workload: The workload.
        annotation: The engine's key.
        by_pods_alone: Whether no kind is a gang by itself, because the engine looks at pods alone.
    """
    stated = workload.values_of(annotation, annotation=True)
    if by_pods_alone or workload.is_of("batch") or workload.is_of("jobset.x-k8s.io"):
        least = [int(value) for value in stated if value.isdecimal()]
        return bool(stated) and all(count >= workload.n_pods for count in least)
    min_available = integer(workload.manifest, "spec", "minAvailable")
    return min_available is None or min_available >= workload.n_pods
