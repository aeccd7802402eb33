"""A filter of changes that may affect decisions.

Heartbeats of nodes, conditions, statuses and the scheduler's own writes do not affect them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apportion_api.kubernetes.names import REGION_LABEL, ZONE_LABEL
from apportion_runtime.kube.cluster import Manifest
from apportion_runtime.kube.resources import POD, POD_GROUP

_COPIED_LABELS = frozenset((ZONE_LABEL, REGION_LABEL))
"""Labels that the API server copies from the node to a pod when it is bound (PodTopologyLabels, Kubernetes 1.35)."""


def is_relevant(kind: str, before: Manifest | None, after: Manifest) -> bool:
    """Return whether a change from one version of an object to another may change decisions.

    Args:
        kind: The kind of the object.
        before: The object as it was; None if it is new.
        after: The object as it is.
    """
    if before is None:
        return True
    if before is after:
        return False
    old, new = before["metadata"], after["metadata"]
    read = _READ.get(kind)
    if read is not None:
        return old.get("uid") != new.get("uid") or read(before) != read(after)
    version = new.get("resourceVersion")
    # A version alone is no proof: an API server whose etcd is restored from a backup uses versions again.
    return version is None or version != old.get("resourceVersion") or before != after


def _of_metadata(manifest: Manifest) -> tuple[Any, ...]:
    metadata = manifest["metadata"]
    return tuple(metadata.get(key) or None for key in ("labels", "annotations", "deletionTimestamp", "ownerReferences"))


def _of_pod(manifest: Manifest) -> tuple[Any, ...]:
    status, spec, metadata = manifest.get("status") or {}, manifest.get("spec") or {}, manifest["metadata"]
    read = tuple(status.get(key) for key in ("phase", "nominatedNodeName", "qosClass", "resourceClaimStatuses"))
    labels = metadata.get("labels") or {}
    if spec.get("nodeName") and not labels.keys().isdisjoint(_COPIED_LABELS):
        labels = {key: value for key, value in labels.items() if key not in _COPIED_LABELS}
        manifest = {**manifest, "metadata": {**metadata, "labels": labels}}
    return _of_metadata(manifest), spec, read


def _of_node(manifest: Manifest) -> tuple[Any, ...]:
    status = manifest.get("status") or {}
    conditions = [(one.get("type"), one.get("status")) for one in status.get("conditions") or ()]
    amounts = status.get("allocatable"), status.get("capacity")
    # Annotations of a node hold the state of its agents.
    return manifest["metadata"].get("labels"), manifest.get("spec"), amounts, conditions


def _of_pod_group(manifest: Manifest) -> tuple[Any, ...]:
    conditions = (manifest.get("status") or {}).get("schedulingConditions")
    return _of_metadata(manifest), manifest.get("spec"), conditions


def _of_queue(manifest: Manifest) -> tuple[Any, ...]:
    return _of_metadata(manifest), manifest.get("spec")


_READ: Mapping[str, Callable[[Manifest], object]] = {
    POD: _of_pod,
    POD_GROUP: _of_pod_group,
    "Node": _of_node,
    "Queue": _of_queue,
}
"""The parts of each kind that are read; any change of other kinds is relevant."""
