"""The queue of an object: emitted objects have the queue's id as a label; others are identified by name."""

from __future__ import annotations

from collections.abc import Iterable

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
from apportion_compiler.plain_objects import annotations_of, labels_of, name_of
from apportion_compiler.readers.record import Manifest

_TRACKING = ("app.kubernetes.io/", "helm.sh/", "argocd.argoproj.io/", NAMESPACE_LABEL)
"""Labels of installation tools, which do not describe a queue."""


def is_ours(manifest: Manifest) -> bool:
    """Return whether Apportion emitted the object."""
    return labels_of(manifest).get(MANAGED_BY_LABEL) == MANAGER


def queue_id(manifest: Manifest) -> str:
    """Return the queue id of an object that is named after it.

    The label has the id itself if it is valid, and a digest of it otherwise; likewise the name, by stricter rules. The
    id must reproduce both.
    """
    return id_of(name_of(manifest), labels_of(manifest).get(QUEUE_ID_LABEL))


def id_of(name: str, label: str | None) -> str:
    """Return the queue id for an object's name and label."""
    if label is None or label_value(name) == label:
        return name
    return label if object_name(label) == name else name


def own_labels(manifest: Manifest, *known: str) -> dict[str, str]:
    """Return the labels that were not set by Apportion, a tool or the engine (`known`)."""
    return {
        key: value
        for key, value in sorted(labels_of(manifest).items())
        if not key.startswith((f"{GROUP}/", *_TRACKING)) and key not in known
    }


def owner_of(manifest: Manifest) -> str | None:
    """Return the owner of the object's queue."""
    return annotations_of(manifest).get(OWNER_ANNOTATION)


def environment_of(manifests: Iterable[Manifest]) -> str | None:
    """Return the environment in the labels of emitted objects, if any."""
    named = {labels_of(m)[ENVIRONMENT_LABEL] for m in manifests if is_ours(m) and ENVIRONMENT_LABEL in labels_of(m)}
    return named.pop() if len(named) == 1 else None
