"""Import of a cluster: the record of the engine's reader, completed from objects that all engines share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from apportion_compiler.backends.metadata import QUEUE_ID_LABEL
from apportion_compiler.kubernetes_names import label_value
from apportion_compiler.plain_objects import labels_of, of_kind
from apportion_compiler.readers import READERS
from apportion_compiler.readers.admission import admission_facts
from apportion_compiler.readers.namespaces import with_namespaces
from apportion_compiler.readers.objects import is_ours, own_labels, owner_of
from apportion_compiler.readers.record import ImportRecord, Manifest


def read_cluster(engine: str, manifests: Sequence[Manifest]) -> ImportRecord:
    """Return a reader's record, with namespaces and preemptibility of classes from other objects.

    Raises:
        KeyError: If there is no reader of that name.
        ValueError: If a value is invalid.
    """
    record = READERS[engine].read(manifests)
    facts = admission_facts(manifests)
    if facts is not None:
        classes = (
            replace(cls, preemptible=facts.is_preemptible(cls.name)) if cls.preemptible is None else cls
            for cls in record.priority_classes
        )
        record = replace(record, priority_classes=tuple(classes))
    return _with_labels(with_namespaces(record, manifests), manifests)


_PLAIN_KINDS = (("", "Namespace"), ("rbac.authorization.k8s.io", "ClusterRoleBinding"))


def _with_labels(record: ImportRecord, manifests: Sequence[Manifest]) -> ImportRecord:
    """Return queues with the labels and owners of the plain objects, if the engine's objects cannot have them."""
    plain = {
        labels_of(m)[QUEUE_ID_LABEL]: m
        for group, kind in _PLAIN_KINDS
        for m in of_kind(manifests, group, kind)
        if is_ours(m) and QUEUE_ID_LABEL in labels_of(m)
    }
    queues = []
    for queue in record.queues:
        of_queue = plain.get(label_value(queue.id))
        if of_queue is not None:
            labels, owner = queue.labels or own_labels(of_queue), queue.owner or owner_of(of_queue)
            queues.append(replace(queue, labels=labels, owner=owner))
        else:
            queues.append(queue)
    return replace(record, queues=tuple(queues))
