"""Namespaces as Apportion emits them for every engine: their queue, and the allowed values of workloads.

Readers of engines ignore them: their records are completed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from apportion_compiler.backends.admission.namespace_metadata import CLASSES_ANNOTATION, QUEUE_LABEL, SHARING_ANNOTATION
from apportion_compiler.kubernetes_names import label_value
from apportion_compiler.plain_objects import annotations_of, labels_of, name_of, of_kind
from apportion_compiler.readers.limit_ranges import with_limit_ranges
from apportion_compiler.readers.record import ImportRecord, Manifest


@dataclass(frozen=True, slots=True)
class QueueNamespaces:
    """The namespaces of one queue, and the allowed values of its workloads; None if unknown."""

    namespaces: tuple[str, ...]
    priority_classes: tuple[str, ...] | None
    gpu_sharing: bool | None


def bound_namespaces(manifests: Sequence[Manifest]) -> Mapping[str, QueueNamespaces]:
    """Return the namespaces with Apportion's label, by the queue's id as a label value."""
    found: dict[str, list[Manifest]] = {}
    for manifest in of_kind(manifests, "", "Namespace"):
        queue = labels_of(manifest).get(QUEUE_LABEL)
        if queue is not None and name_of(manifest):
            found.setdefault(queue, []).append(manifest)
    return {queue: _bound(namespaces) for queue, namespaces in found.items()}


def with_namespaces(record: ImportRecord, manifests: Sequence[Manifest]) -> ImportRecord:
    """Return the record with namespaces, classes and sharing that the engine's objects do not contain.

    Classes are omitted for a queue that may use all.
    """
    bound = bound_namespaces(manifests)
    every = {cls.name for cls in record.priority_classes}
    queues = []
    for queue in record.queues:
        of_queue = bound.get(label_value(queue.id))
        if of_queue is not None:
            classes = queue.priority_classes
            if classes is None and of_queue.priority_classes is not None and every > set(of_queue.priority_classes):
                classes = tuple(cls for cls in of_queue.priority_classes if cls in every)
            queues.append(
                replace(
                    queue,
                    namespaces=queue.namespaces or of_queue.namespaces,
                    priority_classes=classes,
                    gpu_sharing=of_queue.gpu_sharing if queue.gpu_sharing is None else queue.gpu_sharing,
                )
            )
        else:
            queues.append(queue)
    return with_limit_ranges(replace(record, queues=tuple(queues)), manifests, foreign=False)


def _bound(namespaces: Sequence[Manifest]) -> QueueNamespaces:
    notes = [annotations_of(namespace) for namespace in namespaces]
    classes = {note[CLASSES_ANNOTATION] for note in notes if CLASSES_ANNOTATION in note}
    sharing = {note[SHARING_ANNOTATION] for note in notes if SHARING_ANNOTATION in note}
    named = classes.pop() if len(classes) == 1 else None
    return QueueNamespaces(
        tuple(sorted(name_of(namespace) for namespace in namespaces)),
        None if named is None else tuple(cls for cls in named.split(",") if cls),
        (sharing.pop() == "true") if len(sharing) == 1 else None,
    )
