"""Queues and quotas of a cluster that nobody declared and that take a part in what was written.

A queue below a written one shares its quota, a LocalQueue leads work into a written ClusterQueue, and a ResourceQuota
bounds a written namespace. What an engine makes for itself is none of these. Nodes of ACK's tree and of YuniKorn's
configuration are fields of one object, which the comparison of fields finds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_compiler.backends.metadata import QUEUE_ID_LABEL
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.engines.traits import Reference
from apportion_compiler.plain_objects import Manifest, group_of, items, labels_of, mapping, name_of
from apportion_compiler.rollout.identity import Identity, identity_of

_WHERE_WRITTEN = frozenset((("", "ResourceQuota"), ("", "LimitRange")))
"""Kinds that teams use for themselves as well, so that they count where the policy bounds namespaces by them."""


def unmanaged(wanted: Sequence[Manifest], export: Sequence[Manifest]) -> Iterator[tuple[Identity, str, str]]:
    """Yield objects that nobody wrote and that take a part in written ones, with the field and what it names.

    What hangs below such an object takes a part as well.
    """
    written = {identity_of(manifest) for manifest in wanted}
    kinds = {(identity.group, identity.kind) for identity in written}
    ours = {(identity.group, identity.kind, identity.name) for identity in written}
    # A cohort is there as soon as a queue names it, with or without an object.
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
    """Tell whether an engine or another controller keeps the object."""
    owners = items(manifest, "metadata", "ownerReferences")
    return any(name_of(manifest) in traits.own_objects for traits in TRAITS.values()) or any(
        mapping(owner).get("controller") is True for owner in owners
    )
