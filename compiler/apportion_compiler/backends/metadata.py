"""What every emitted object carries: who manages it, where it belongs, and the author's line it comes from."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.naming import label_value, object_name
from apportion_policy.source import SourceLocation

GROUP = "apportion.dev"
MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGER = "apportion"
ENVIRONMENT_LABEL = f"{GROUP}/environment"
QUEUE_ID_LABEL = f"{GROUP}/queue-id"
TOP_QUEUE_LABEL = f"{GROUP}/top-queue"
"""The top-level queue above an object's queue: the tree of files has one file for each."""
SOURCE_ANNOTATION = f"{GROUP}/source"
OWNER_ANNOTATION = f"{GROUP}/owner"


def metadata(
    program: Program,
    name: str,
    source: SourceLocation,
    *,
    namespace: str | None = None,
    queue: Queue | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> dict[str, object]:
    """Return an object's metadata.

    Args:
        program: The cluster it is for.
        name: The object's name, as it shall be.
        source: The declaration it comes from; its file is written as it stands there. For what no author wrote, such
            as the default priority classes, the cluster that wants it stands in.
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
    at = source if source.line else program.source
    noted[SOURCE_ANNOTATION] = f"{at.file}:{at.line}"
    if annotations:
        noted.update(annotations)
    made["labels"] = carried
    made["annotations"] = noted
    return made
