"""The owners of a pod, from its own up to the top one.

Source: pkg/podgrouper/podgrouper/podgrouper.go at d5bc503a.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion_runtime.admission.objects import (
    GroupingError,
    Manifest,
    Objects,
    Unreadable,
    name_of,
    namespace_of,
    nested,
    uid_of,
)


def owners_of(pod: Manifest, objects: Objects) -> tuple[Manifest, ...]:
    """Return the owners of a pod, its own first.

    An owner that the account may not read ends the chain below it. If that is the pod's own owner, it counts as its
    reference describes it: without labels, annotations and owners. (There, the engine groups the pod by itself.)

    Raises:
        GroupingError: If an owner does not exist, has several owners itself, or owns itself.
    """
    found: list[Manifest] = []
    references = nested(pod, "metadata", "ownerReferences") or ()
    while references:
        reference = references[0]
        if found and len(references) > 1:
            kind, name = str(found[-1].get("kind")), name_of(found[-1])
            raise GroupingError(f"found {kind} <{name} in namespace {namespace_of(pod)}> with multiple owners")
        if any(uid_of(owner) == reference.get("uid") for owner in found):
            raise GroupingError(f"the owners of {_named(pod, reference)} form a cycle")
        try:
            owner = _read(pod, reference, objects)
        except Unreadable:
            return tuple(found) or (_by_reference(pod, reference),)
        found.append(owner)
        references = nested(owner, "metadata", "ownerReferences") or ()
    return tuple(found)


def _read(pod: Manifest, reference: Mapping[str, Any], objects: Objects) -> Manifest:
    owner = objects.read(
        reference.get("apiVersion") or "", reference.get("kind") or "", namespace_of(pod), reference.get("name") or ""
    )
    # An owner of the same name may have been created since.
    if owner is None or uid_of(owner) != reference.get("uid"):
        raise GroupingError(f"failed to find {_named(pod, reference)}, uid: <{reference.get('uid')}>")
    return owner


def _by_reference(pod: Manifest, reference: Mapping[str, Any]) -> Manifest:
    metadata = {"name": reference.get("name"), "namespace": namespace_of(pod), "uid": reference.get("uid")}
    return {"apiVersion": reference.get("apiVersion"), "kind": reference.get("kind"), "metadata": metadata}


def _named(pod: Manifest, reference: Mapping[str, Any]) -> str:
    return f"{reference.get('kind')}: <{namespace_of(pod)}/{reference.get('name')}>"
