"""Namespace, with the labels and annotations of its workloads (`backends/admission/namespace_metadata.py`)."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.backends.admission.namespace_metadata import (
    CLASSES_ANNOTATION,
    QUEUE_LABEL,
    QUEUES_ANNOTATION,
    SHARING_ANNOTATION,
)
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import metadata
from apportion_compiler.backends.partitions import default_names, workload_queue_names
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.ir.program import Program
from apportion_compiler.kubernetes_names import label_value, object_name

_KEPT = {
    "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
}
"""Prevents Argo CD and Flux from pruning a namespace, which would delete every claim and secret in it."""


def namespaces(program: Program) -> Iterator[Manifest]:
    """Yield the namespaces of every leaf."""
    queue_names = workload_queue_names(program)
    for queue in program.queues:
        for namespace in queue.namespaces:
            allowed = {
                QUEUES_ANNOTATION: ",".join(dict.fromkeys((*queue_names[queue.id], *default_names(program, queue)))),
                CLASSES_ANNOTATION: ",".join(object_name(cls) for cls in queue.priority_classes),
                SHARING_ANNOTATION: "true" if queue.gpu_sharing else "false",
                **_KEPT,
                **TRAITS[program.engine].namespace_annotations(queue_names[queue.id]),
            }
            yield {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": metadata(
                    program,
                    namespace,
                    queue.source,
                    queue=queue,
                    labels={QUEUE_LABEL: label_value(queue.id)},
                    annotations=allowed,
                ),
            }
