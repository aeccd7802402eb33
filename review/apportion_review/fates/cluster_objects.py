"""A cluster's objects under another policy: those of a snapshot, with the policy's objects replaced."""

from __future__ import annotations

from collections.abc import Sequence

from apportion_api.kubernetes.names import NAMESPACE_LABEL
from apportion_compiler.plain_objects import Manifest, mapping
from apportion_compiler.rollout.identity import Identity, identity_of

_OF_THE_SERVER = frozenset(("creationTimestamp", "uid"))
# Engines order queues by age, and owner references name objects by uid.


def objects_under(
    snapshot: Sequence[Manifest], formerly: Sequence[Manifest], wanted: Sequence[Manifest]
) -> list[Manifest]:
    """Return a cluster's objects as they would be with the objects of another policy applied.

    Objects that neither policy manages are unchanged, in the snapshot's order. A managed object keeps its status and
    its age.

    Args:
        snapshot: The objects of the cluster.
        formerly: Objects of the current policy; those that are not in `wanted` are removed.
        wanted: Objects of the policy to apply.
    """
    applied = {identity_of(manifest): _as_stored(manifest) for manifest in wanted}
    gone = {identity_of(manifest) for manifest in formerly} - applied.keys()
    found: dict[Identity, Manifest] = {}
    for held in snapshot:
        identity = identity_of(held)
        if identity in gone:
            continue
        manifest = applied.get(identity)
        found[identity] = held if manifest is None else _with_history(manifest, held)
    return [*found.values(), *(manifest for identity, manifest in applied.items() if identity not in found)]


def _as_stored(manifest: Manifest) -> Manifest:
    """Return an object with fields that the API server adds and engines select by: a namespace's name as a label."""
    if manifest.get("kind") != "Namespace":
        return manifest
    metadata = mapping(manifest, "metadata")
    labels = {**mapping(metadata, "labels"), NAMESPACE_LABEL: metadata.get("name")}
    return {**manifest, "metadata": {**metadata, "labels": labels}}


def _with_history(manifest: Manifest, held: Manifest) -> Manifest:
    kept = {key: value for key, value in mapping(held, "metadata").items() if key in _OF_THE_SERVER}
    status = {"status": held["status"]} if "status" in held else {}
    return {**manifest, "metadata": {**mapping(manifest, "metadata"), **kept}, **status}
