"""From the name of a pod, a workload or a pod group to the pod group that is explained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import click
import yaml

from apportion_api.kai.names import NODE_POOL_LABEL, POD_GROUP_ANNOTATION, TOP_OWNER_ANNOTATION

Object = dict[str, Any]


def pod_group_of(objects: Sequence[Object], name: str, namespace: str | None) -> tuple[str, str] | Object:
    """Return namespace and name of the pod group that a name stands for, or the pod if it has none that exists.

    Args:
        objects: The objects of the cluster.
        name: The name of a pod, of a pod group, or of the owner of one, as `job/train` or `train`.
        namespace: Its namespace; None searches all.

    Raises:
        click.UsageError: If there is nothing of that name, or several.
    """
    kind, _, bare = name.rpartition("/")
    found: dict[tuple[str, str], tuple[str, str] | Object] = {}
    known: set[str] = set()
    groups = {
        (one["metadata"].get("namespace") or "", one["metadata"]["name"])
        for one in objects
        if one["kind"] == "PodGroup"
    }
    for each_kind, each, target in _subjects(objects):
        if namespace not in (None, target[0]):
            continue
        known.add(each)
        if each == bare and kind.lower() in ("", each_kind.lower(), f"{each_kind.lower()}s"):
            found[target] = target if target in groups else _pod(objects, target[0], each)
    if not found:
        near = get_close_matches(bare, sorted(known), n=1)
        place = "in any namespace" if namespace is None else f"in namespace {namespace}"
        hint = f"; did you mean {near[0]}?" if near else ""
        raise click.UsageError(f"no pod, workload or pod group {name} {place}{hint}")
    if len(found) > 1:
        matches = ", ".join(sorted("/".join(filter(None, target)) for target in found))
        raise click.UsageError(f"{name} is ambiguous: {matches}; pass -n NAMESPACE or the name of a pod group")
    return next(iter(found.values()))


def shard_of(objects: Sequence[Object], namespace: str, group: str, wanted: str | None) -> str | None:
    """Return the SchedulingShard that schedules a pod group; None if the group is not of a node pool.

    Raises:
        click.UsageError: If another shard is wanted, or no shard schedules the node pool of the group.
    """
    key, pool, shards = NODE_POOL_LABEL, "", dict[str, str]()
    for one in objects:
        metadata, spec = one["metadata"], one.get("spec") or {}
        if one["kind"] == "Config":
            key = (spec.get("global") or {}).get("nodePoolLabelKey") or key
        elif one["kind"] == "SchedulingShard":
            shards.setdefault(spec.get("partitionLabelValue") or "", metadata["name"])
    for one in objects:
        metadata = one["metadata"]
        if one["kind"] == "PodGroup" and (metadata.get("namespace") or "", metadata["name"]) == (namespace, group):
            pool = (metadata.get("labels") or {}).get(key) or ""
    if not pool:
        return wanted
    label = f"pod group {namespace}/{group} has the label {key}={pool}"
    if pool not in shards:
        raise click.UsageError(f"{label}, but no SchedulingShard schedules this node pool, so its pods stay pending")
    if wanted not in (None, shards[pool]):
        raise click.UsageError(f"{label}; it belongs to SchedulingShard {shards[pool]}, not {wanted}")
    return shards[pool]


def _subjects(objects: Sequence[Object]) -> Iterator[tuple[str, str, tuple[str, str]]]:
    """Yield kind, name and pod group of whatever can be named; the name of the group is empty for a pod without one."""
    for one in objects:
        metadata = one["metadata"]
        namespace = metadata.get("namespace") or ""
        if one["kind"] == "PodGroup":
            yield "PodGroup", metadata["name"], (namespace, metadata["name"])
            owners = [(owner["kind"], owner["name"]) for owner in metadata.get("ownerReferences") or ()]
            for kind, name in dict.fromkeys((*owners, *_top_owner(one))):
                if kind != "Pod":
                    yield kind, name, (namespace, metadata["name"])
        elif one["kind"] == "Pod":
            group = (metadata.get("annotations") or {}).get(POD_GROUP_ANNOTATION) or ""
            yield "Pod", metadata["name"], (namespace, group)


def _top_owner(group: Object) -> Iterator[tuple[str, str]]:
    """Yield kind and name of the workload of a pod group, such as the Deployment of a pod's group, if it is known."""
    written = (group["metadata"].get("annotations") or {}).get(TOP_OWNER_ANNOTATION) or ""
    try:
        owner = yaml.safe_load(written)
    except yaml.YAMLError:
        return
    if isinstance(owner, dict) and isinstance(owner.get("kind"), str) and isinstance(owner.get("name"), str):
        yield owner["kind"], owner["name"]


def _pod(objects: Sequence[Object], namespace: str, name: str) -> Object:
    return next(
        one
        for one in objects
        if one["kind"] == "Pod" and (one["metadata"].get("namespace"), one["metadata"]["name"]) == (namespace, name)
    )
