"""The fields of objects that the cache keeps: those that decisions, events or conditions are made from.

Field managers, the programs of containers (images, commands, variables, probes) and the state of running containers are
two thirds of a pod. Texts that occur more than once are stored once, and so are parts that are equal in two versions of an
object, or in pods of one gang: kept objects must not be changed in place.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from operator import is_
from sys import intern
from typing import Any

from apportion_runtime.kube.cluster import Manifest
from apportion_runtime.kube.resources import POD

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_OF_CONTAINER = ("name", "resources", "restartPolicy", "ports", "envFrom")
_NOT_OF_STATUS = frozenset(
    (
        *("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses", "podIPs", "hostIPs"),
        # Of nodes; the list of images is longer than everything else.
        *("images", "volumesInUse", "volumesAttached"),
    )
)
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def cached_fields(kind: str, manifest: Manifest, like: Manifest | None = None) -> dict[str, Any]:
    """Return an object from the API server as the cache keeps it.

    Args:
        kind: Its kind.
        manifest: The object.
        like: A kept object whose equal parts are used again: an earlier version, or another object of the kind.
    """
    made = dict(manifest)
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "managedFields"}
    if _LAST_APPLIED in (metadata.get("annotations") or {}):
        metadata["annotations"] = {key: value for key, value in metadata["annotations"].items() if key != _LAST_APPLIED}
    made["metadata"] = metadata
    status = manifest.get("status") or {}
    if kind == POD:
        made["spec"] = _spec(manifest["spec"])
    # The state of containers that have not started says what a reservation pod waits for.
    if status and not (kind == POD and status.get("phase") == "Pending"):
        made["status"] = {key: value for key, value in status.items() if key not in _NOT_OF_STATUS}
    kept: dict[str, Any] = _kept(made, like)
    return kept


def _spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(spec)
    for key in _CONTAINERS:
        if spec.get(key):
            made[key] = [_container(one) for one in spec[key]]
    if spec.get("volumes"):
        made["volumes"] = [_volume(one) for one in spec["volumes"]]
    return made


def _container(container: Mapping[str, Any]) -> dict[str, Any]:
    made = {key: container[key] for key in _OF_CONTAINER if key in container}
    # References to ConfigMaps are read; values are not.
    references = [
        {"name": one["name"], "valueFrom": one["valueFrom"]}
        for one in container.get("env") or ()
        if (one.get("valueFrom") or {}).get("configMapKeyRef")
    ]
    if references:
        made["env"] = references
    if container.get("volumeMounts"):
        made["volumeMounts"] = [{"name": one["name"]} for one in container["volumeMounts"]]
    return made


def _volume(volume: Mapping[str, Any]) -> Mapping[str, Any]:
    sources = (volume.get("projected") or {}).get("sources")
    if not sources:
        return volume
    kept = [
        {"configMap": {key: found[key] for key in ("name", "optional") if key in found}}
        for one in sources
        if (found := one.get("configMap")) is not None
    ]
    return {"name": volume["name"], "projected": {"sources": kept}}


def _kept(value: Any, like: Any) -> Any:
    kind = type(value)
    if kind is str:
        return intern(value)
    if kind is dict:
        if type(like) is not dict:
            return {intern(key): _kept(one, None) for key, one in value.items()}
        made = {intern(key): _kept(one, like.get(key)) for key, one in value.items()}
        # Equal texts and parts are identical by now, and an API server writes keys in one order.
        is_equal = len(made) == len(like) and all(map(is_, made, like)) and all(map(is_, made.values(), like.values()))
        return like if is_equal else made
    if kind is not list:
        return value
    if type(like) is not list:
        return [_kept(one, None) for one in value]
    items = [_kept(one, other) for one, other in zip_longest(value, like[: len(value)])]
    return like if len(items) == len(like) and all(map(is_, items, like)) else items
