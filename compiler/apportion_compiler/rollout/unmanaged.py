"""Queues and quotas of a cluster that nobody declared and that take a part in what was written.

A queue below a written one shares its quota, a LocalQueue leads work into a written ClusterQueue, and a ResourceQuota
bounds a written namespace. What an engine makes for itself is none of these. Nodes of ACK's tree and of YuniKorn's
configuration are fields of one object, which the comparison of fields finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_compiler.backends.metadata import QUEUE_ID_LABEL
from apportion_compiler.engines.kai.emit import names as kai
from apportion_compiler.engines.koordinator.emit import names as koordinator
from apportion_compiler.engines.kueue.emit import names as kueue
from apportion_compiler.engines.volcano.emit import names as volcano
from apportion_compiler.plain_objects import Manifest, group_of, items, labels_of, mapping, name_of, text
from apportion_compiler.rollout.identity import Identity, identity_of

_KAI, _VOLCANO, _QUOTAS = "scheduling.run.ai", "scheduling.volcano.sh", "scheduling.sigs.k8s.io"
_COHORT, _CLUSTER_QUEUE, _NAMESPACE = (kueue.GROUP, "Cohort"), (kueue.GROUP, "ClusterQueue"), ("", "Namespace")
_ENGINES_OWN = frozenset(
    (
        kai.SHARED_QUEUE, volcano.ROOT_QUEUE, volcano.SHARED_QUEUE,
        koordinator.ROOT_QUOTA, koordinator.SYSTEM_QUOTA, koordinator.DEFAULT_QUOTA,
        "gke-resource-quotas",  # GKE bounds the number of objects of each namespace by it.
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Reference:
    """How objects of one kind name what they take a part in: the field, and of which kind that is."""

    path: str
    read: Callable[[Manifest], str | None]
    kind: tuple[str, str]


def _field(path: str, kind: tuple[str, str]) -> _Reference:
    return _Reference(path, lambda manifest: text(manifest, *path.split(".")), kind)


_REFERENCES: Mapping[tuple[str, str], tuple[_Reference, ...]] = {
    (_KAI, "Queue"): (_field("spec.parentQueue", (_KAI, "Queue")),),
    (_VOLCANO, "Queue"): (_field("spec.parent", (_VOLCANO, "Queue")),),
    # The second name of each pair is that of v1beta1, in which an export may be written.
    _CLUSTER_QUEUE: (_field("spec.cohortName", _COHORT), _field("spec.cohort", _COHORT)),
    _COHORT: (_field("spec.parentName", _COHORT), _field("spec.parent", _COHORT)),
    (kueue.GROUP, "LocalQueue"): (_field("spec.clusterQueue", _CLUSTER_QUEUE),),
    (_QUOTAS, "ElasticQuota"): (
        _Reference(
            f"metadata.labels[{koordinator.PARENT_LABEL}]",
            lambda manifest: labels_of(manifest).get(koordinator.PARENT_LABEL),
            (_QUOTAS, "ElasticQuota"),
        ),
    ),
    ("", "ResourceQuota"): (_field("metadata.namespace", _NAMESPACE),),
    ("", "LimitRange"): (_field("metadata.namespace", _NAMESPACE),),
}
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
    ours |= {(*_COHORT, name) for manifest in wanted for name in _cohorts(manifest)}
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
    for reference in _REFERENCES.get(kind, ()):
        named = reference.read(manifest)
        if named is not None and (*reference.kind, named) in ours:
            return reference.path, named
    label = labels_of(manifest).get(QUEUE_ID_LABEL)
    return None if label is None or kind not in kinds else (f"metadata.labels[{QUEUE_ID_LABEL}]", label)


def _cohorts(manifest: Manifest) -> Iterator[str]:
    kind = group_of(manifest), str(manifest.get("kind"))
    for reference in _REFERENCES[kind] if kind in (_CLUSTER_QUEUE, _COHORT) else ():
        named = reference.read(manifest)
        if named is not None:
            yield named


def _is_made(manifest: Manifest) -> bool:
    """Tell whether an engine or another controller keeps the object."""
    owners = items(manifest, "metadata", "ownerReferences")
    return name_of(manifest) in _ENGINES_OWN or any(mapping(owner).get("controller") is True for owner in owners)
