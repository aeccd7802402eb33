"""Unmanaged queues and quotas of a cluster that affect applied ones.

A child of an applied queue shares its quota, a LocalQueue feeds an applied ClusterQueue, and a ResourceQuota limits an
applied namespace. Objects that an engine creates are excluded. Nodes of ACK's tree and of YuniKorn's configuration are
fields of one object, which the comparison of fields covers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_compiler.backends.metadata import QUEUE_ID_LABEL
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.engines.traits import Reference
from apportion_compiler.plain_objects import Manifest, group_of, items, labels_of, mapping, name_of
from apportion_compiler.rollout.identity import Identity, identity_of

_WHERE_WRITTEN = frozenset((("", "ResourceQuota"), ("", "LimitRange")))
"""Kinds that teams also use, reported only if the policy uses them to limit namespaces."""


def unmanaged(wanted: Sequence[Manifest], export: Sequence[Manifest]) -> Iterator[tuple[Identity, str, str]]:
    """Yield unmanaged objects that affect applied ones, with the field and the object that it references.

    Descendants of such an object are included.
    """
    written = {identity_of(manifest) for manifest in wanted}
    kinds = {(identity.group, identity.kind) for identity in written}
    ours = {(identity.group, identity.kind, identity.name) for identity in written}
    # A cohort exists if a queue references it, with or without an object.
    ours |= {
        (*reference.of, name)
        for manifest in wanted
        for reference in _references((group_of(manifest), str(manifest.get("kind"))))
        if reference.is_implied and (name := reference.name_in(manifest)) is not None
    }
    pending = {identity_of(one): one for one in export if identity_of(one) not in written and not _is_made(one)}
    found: dict[Identity, tuple[str, str]] = {}
    grew = True
    while grew:
        grew = False
        for identity, manifest in pending.items():
            if identity in found:
                continue
            reason = _reason(manifest, identity, ours, kinds)
            if reason is not None:
                found[identity] = reason
                ours.add((identity.group, identity.kind, identity.name))
                grew = True
    for identity in sorted(found):
        yield (identity, *found[identity])


def _reason(
    manifest: Manifest, identity: Identity, ours: set[tuple[str, str, str]], kinds: set[tuple[str, str]]
) -> tuple[str, str] | None:
    kind = identity.group, identity.kind
    if kind in _WHERE_WRITTEN and kind not in kinds:
        return None
    for reference in _references(kind):
        named = reference.name_in(manifest)
        if named is not None and (*reference.of, named) in ours:
            return reference.path, named
    label = labels_of(manifest).get(QUEUE_ID_LABEL)
    return None if label is None or kind not in kinds else (f"metadata.labels[{QUEUE_ID_LABEL}]", label)


def _references(kind: tuple[str, str]) -> Iterator[Reference]:
    yield from (one for traits in TRAITS.values() for one in traits.references if one.kind == kind)


def _is_made(manifest: Manifest) -> bool:
    """Return whether an engine or another controller manages the object."""
    owners = items(manifest, "metadata", "ownerReferences")
    return any(name_of(manifest) in traits.own_objects for traits in TRAITS.values()) or any(
        mapping(owner).get("controller") is True for owner in owners
    )
