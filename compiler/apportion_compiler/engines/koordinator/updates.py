"""Updates that satisfy Koordinator's webhook on ElasticQuotas: existing parents, equal resources, unique namespaces.

Sums of minima do not matter: every emitted quota has `allow-force-update`, because the compiler checks the sums.

Source: pkg/webhook/elasticquota/{quota_topology,quota_topology_check}.go at a7a1b76b.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from apportion_api.koordinator.names import (
    DEFAULT_QUOTA,
    NAMESPACES_ANNOTATION,
    PARENT_LABEL,
    ROOT_QUOTA,
    SYSTEM_QUOTA,
)
from apportion_api.koordinator.objects import ElasticQuota
from apportion_api.objects import is_a, read
from apportion_compiler.plain_objects import Manifest, labels_of, mapping
from apportion_compiler.rollout.queue_state import Model, QueueEntry, State

_OWN = frozenset({ROOT_QUOTA, SYSTEM_QUOTA, DEFAULT_QUOTA})


def _read(manifest: Manifest) -> QueueEntry:
    quota = read(ElasticQuota, manifest)
    return QueueEntry(
        manifest,
        quota.name,
        quota.parent,
        claims=frozenset(quota.namespaces),
        keys=(frozenset(quota.maximum), frozenset(quota.minimum)),
        is_parent=quota.is_parent,
    )


def _takes(state: State, quota: QueueEntry) -> bool:
    before = state.queues.get(quota.name)
    if before is not None and before.is_equivalent(quota):
        return True
    below = state.below(quota.name)
    if below and not quota.is_parent:
        return False
    if not all(_agrees(quota, child) for child in below):
        return False
    if quota.claims and any(other.claims & quota.claims for other in state.queues.values() if other.name != quota.name):
        return False
    if quota.parent not in state.ours:
        return True
    parent = state.queues.get(quota.parent)
    return parent is not None and parent.is_parent and _agrees(parent, quota) and not state.is_below_itself(quota)


def _agrees(parent: QueueEntry, child: QueueEntry) -> bool:
    return parent.keys[0] == child.keys[0] and child.keys[1] <= parent.keys[1]


def _at_root(has: QueueEntry, shall: QueueEntry) -> Manifest:
    labels = {**labels_of(has.manifest), PARENT_LABEL: ROOT_QUOTA}
    return {**has.manifest, "metadata": {**mapping(has.manifest, "metadata"), "labels": labels}}


def _lowered(has: QueueEntry, shall: QueueEntry, goal: State) -> Manifest:
    return _with_namespaces(has.manifest, shall.claims)


def _begun(shall: QueueEntry) -> Manifest:
    return _with_namespaces(shall.manifest, frozenset())


def _with_namespaces(manifest: Manifest, kept: Collection[str]) -> Manifest:
    """Return a quota with those of its namespaces that are kept."""
    quota = read(ElasticQuota, manifest)
    notes = dict(quota.annotations)
    if NAMESPACES_ANNOTATION in notes:
        spaces = [space for space in quota.namespaces if space in kept]
        notes[NAMESPACES_ANNOTATION] = json.dumps(spaces, separators=(",", ":"))
    return {**manifest, "metadata": {**mapping(manifest, "metadata"), "annotations": notes}}


def _leaves(has: QueueEntry, shall: QueueEntry) -> bool:
    # A tree has the same resources throughout, so a child with other resources than its parent must be detached first.
    return has.parent != shall.parent or has.keys != shall.keys


MODEL = Model(
    ROOT_QUOTA, _OWN, lambda manifest: is_a(ElasticQuota, manifest), _read, _takes, _at_root, _lowered, _begun, _leaves
)
