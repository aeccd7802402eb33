"""Whose an object is: what Apportion emits carries the queue's id as a label; all else is known by its name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from apportion_api.kubernetes.names import NAMESPACE_LABEL
from apportion_compiler.backends.metadata import (
    ENVIRONMENT_LABEL,
    GROUP,
    MANAGED_BY_LABEL,
    MANAGER,
    OWNER_ANNOTATION,
    QUEUE_ID_LABEL,
)
from apportion_compiler.kubernetes_names import label_value, object_name
from apportion_compiler.plain_objects import annotations_of, described, labels_of, mapping, name_of
from apportion_compiler.readers.record import Manifest, Note

_TRACKING = ("app.kubernetes.io/", "helm.sh/", "argocd.argoproj.io/", NAMESPACE_LABEL)
"""Labels by which tools know what they installed: they say nothing of a queue."""


def is_ours(manifest: Manifest) -> bool:
    """Tell whether Apportion emitted the object."""
    return labels_of(manifest).get(MANAGED_BY_LABEL) == MANAGER


def queue_id(manifest: Manifest) -> str:
    """Return the id of the queue that an object named after it stands for.

    The label holds the id itself where it fits one, and a digest of it otherwise; the name likewise, by stricter
    rules. An id from which both come out again is the one to keep.
    """
    return id_of(name_of(manifest), labels_of(manifest).get(QUEUE_ID_LABEL))


def id_of(name: str, label: str | None) -> str:
    """Return the id of the queue that an object's name and label stand for."""
    if label is None or label_value(name) == label:
        return name
    return label if object_name(label) == name else name


def own_labels(manifest: Manifest, *known: str) -> dict[str, str]:
    """Return the labels that neither Apportion nor a tool nor the engine (`known`) put there."""
    return {
        key: value
        for key, value in sorted(labels_of(manifest).items())
        if not key.startswith((f"{GROUP}/", *_TRACKING)) and key not in known
    }


def owner_of(manifest: Manifest) -> str | None:
    """Return who answers for the object's queue."""
    return annotations_of(manifest).get(OWNER_ANNOTATION)


def environment_of(manifests: Iterable[Manifest]) -> str | None:
    """Return the environment that emitted objects name, if they name one."""
    named = {labels_of(m)[ENVIRONMENT_LABEL] for m in manifests if is_ours(m) and ENVIRONMENT_LABEL in labels_of(m)}
    return named.pop() if len(named) == 1 else None


def unknown_fields(manifest: Manifest, known: Iterable[str], *path: str) -> Iterator[Note]:
    """Yield a note for each field at a path of which a policy has no word."""
    for field in mapping(manifest, *path):
        if field not in known:
            yield Note(described(manifest), f"`{'.'.join((*path, field))}` is dropped")
