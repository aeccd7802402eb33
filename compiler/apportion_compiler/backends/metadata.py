"""The metadata of emitted objects: their manager, queue and owner.

The author's line is kept in memory only. On the cluster, it would change with every comment added above the
declaration; `compile -o json` reports it instead.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.kubernetes_names import label_value, object_name
from apportion_policy.source import SourceLocation

GROUP = "apportion.dev"
MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGER = "apportion"
ENVIRONMENT_LABEL = f"{GROUP}/environment"
QUEUE_ID_LABEL = f"{GROUP}/queue-id"
TOP_QUEUE_LABEL = f"{GROUP}/top-queue"
"""The top-level ancestor of an object's queue; the rendered tree has one file for each."""
OWNER_ANNOTATION = f"{GROUP}/owner"


class Metadata(dict[str, object]):
    """Metadata of an object, with its declaration; the source is not part of the mapping."""

    __slots__ = ("source",)

    def __init__(self, values: Mapping[str, object], source: SourceLocation) -> None:
        super().__init__(values)
        self.source = source


def source_of(manifest: Mapping[str, object]) -> SourceLocation | None:
    """Return the declaration that an emitted object is generated from; None for any other object."""
    found = manifest.get("metadata")
    return found.source if isinstance(found, Metadata) else None


def metadata(
    program: Program,
    name: str,
    source: SourceLocation,
    *,
    namespace: str | None = None,
    queue: Queue | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Metadata:
    """Return an object's metadata.

    Args:
        program: The cluster.
        name: The name of the object.
        source: The declaration that it is generated from; the cluster, if there is none, as for the default priority
            classes.
        namespace: The namespace of a namespaced object.
        queue: The queue it belongs to; its own labels and its owner are added.
        labels: Further labels.
        annotations: Further annotations.
    """
    made: dict[str, object] = {"name": name}
    if namespace is not None:
        made["namespace"] = namespace
    carried: dict[str, str] = {}
    noted: dict[str, str] = {}
    if queue is not None:
        carried.update(sorted(queue.labels.items()))
    carried[MANAGED_BY_LABEL] = MANAGER
    carried[ENVIRONMENT_LABEL] = label_value(program.environment)
    if queue is not None:
        carried[QUEUE_ID_LABEL] = label_value(queue.id)
        carried[TOP_QUEUE_LABEL] = object_name(queue.path[0])
        if queue.owner is not None:
            noted[OWNER_ANNOTATION] = queue.owner
    if labels:
        carried.update(labels)
    if annotations:
        noted.update(annotations)
    made["labels"] = carried
    if noted:
        made["annotations"] = noted
    return Metadata(made, source if source.line else program.source)
