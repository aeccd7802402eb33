"""Records of new pods by their template: what is read of a pod depends on little else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion_api.kai.names import POD_GROUP_ANNOTATION
from apportion_api.kubernetes.names import JOB_INDEX_LABEL, JOB_NAME_LABEL
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.snapshots.quantities import parse_time

Manifest = Mapping[str, Any]
_OF_ONE_JOB = (JOB_NAME_LABEL, JOB_INDEX_LABEL)
"""Labels that the scheduler does not read, except as labels."""
_NEW = {"phase": "Pending"}
_MOST_KEPT = 10_000


class PodTemplates:
    """The records of pods that were read when they were new, by everything but their identity, group and creation time.

    Config maps, volume claims and namespaces, on which a record also depends, are read once for all pods.
    """

    def __init__(self) -> None:
        self._known: dict[object, Pod] = {}

    def record_of(self, made: Manifest) -> Pod | None:
        """Return the record of a pod of a known template, which names an existing group; None if it has to be read."""
        known = self._known.get(_key(made))
        if known is None:
            return None
        metadata = made["metadata"]
        group, created = metadata["annotations"][POD_GROUP_ANNOTATION], parse_time(metadata["creationTimestamp"])
        return known.of_template(metadata["uid"], metadata["name"], metadata["labels"], group, created)

    def note(self, made: Manifest, record: Pod) -> None:
        """Keep the record of a pod that was read without faults."""
        key = _key(made)
        if key is not None and record.group is not None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[key] = record


def _key(made: Manifest) -> object | None:
    metadata, spec = made["metadata"], made["spec"]
    if made.get("status") != _NEW or metadata.get("deletionTimestamp") or spec.get("nodeName"):
        return None
    if spec.get("resourceClaims"):
        # What their claims hold depends on the pod.
        return None
    return (
        metadata["namespace"],
        repr(spec),
        tuple(item for item in metadata["labels"].items() if item[0] not in _OF_ONE_JOB),
        tuple(item for item in metadata["annotations"].items() if item[0] != POD_GROUP_ANNOTATION),
    )
