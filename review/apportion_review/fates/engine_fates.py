"""The engines whose treatment of running work is modelled. An engine's model is loaded when a cluster needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from apportion_compiler.engines.registry import EngineParts
from apportion_compiler.plain_objects import Manifest
from apportion_review.fates.cluster_state import ClusterState
from apportion_review.fates.records import EngineFates


class _FatesOfStates(Protocol):
    """Decide the fates from the cluster under base and head."""

    def __call__(self, base: ClusterState, head: ClusterState) -> EngineFates: ...


class _FatesOfObjects(Protocol):
    """Decide the fates from all objects of the cluster under base and head, and the time of the snapshot."""

    def __call__(self, base: Sequence[Manifest], head: Sequence[Manifest], *, now: float | None) -> EngineFates: ...


_OF_STATES: Mapping[str, _FatesOfStates] = EngineParts({"kai": "apportion_review.fates.kai:kai_fates"})
_OF_OBJECTS: Mapping[str, _FatesOfObjects] = EngineParts(
    {
        "ack": "apportion_review.fates.ack:ack_fates",
        "koordinator": "apportion_review.fates.koordinator:koordinator_fates",
        "kueue": "apportion_review.fates.kueue:kueue_fates",
        "native": "apportion_review.fates.native:native_fates",
        "volcano": "apportion_review.fates.volcano:volcano_fates",
        "yunikorn": "apportion_review.fates.yunikorn:yunikorn_fates",
    }
)


def has_fates(engine: str) -> bool:
    """Return whether an engine is modelled; a review says so of one that is not."""
    return engine in _OF_STATES or engine in _OF_OBJECTS


def engine_fates(engine: str, base: ClusterState, head: ClusterState) -> EngineFates:
    """Return the fates of a cluster's running work under base and head on an engine that is modelled."""
    if engine in _OF_STATES:
        return _OF_STATES[engine](base, head)
    return _OF_OBJECTS[engine](base.objects, head.objects, now=base.now)
