"""The engines whose treatment of running work is modelled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

from apportion_compiler.plain_objects import Manifest
from apportion_review.fates.ack import ack_fates
from apportion_review.fates.cluster_state import ClusterState
from apportion_review.fates.kai import kai_fates
from apportion_review.fates.koordinator import koordinator_fates
from apportion_review.fates.kueue import kueue_fates
from apportion_review.fates.native import native_fates
from apportion_review.fates.records import EngineFates
from apportion_review.fates.volcano import volcano_fates
from apportion_review.fates.yunikorn import yunikorn_fates

FatesOfEngine = Callable[[ClusterState, ClusterState], EngineFates]
"""Decides the fates of a cluster's running work on one engine, from the cluster under base and head."""


class _FatesOfObjects(Protocol):
    """Decide the fates from all objects of the cluster under base and head, and the time of the snapshot."""

    def __call__(self, base: Sequence[Manifest], head: Sequence[Manifest], *, now: float | None) -> EngineFates: ...


def _of_states(fates_of: _FatesOfObjects, base: ClusterState, head: ClusterState) -> EngineFates:
    return fates_of(base.objects, head.objects, now=base.now)


ENGINE_FATES: Mapping[str, FatesOfEngine] = {
    "ack": partial(_of_states, ack_fates),
    "kai": kai_fates,
    "koordinator": partial(_of_states, koordinator_fates),
    "kueue": partial(_of_states, kueue_fates),
    "native": partial(_of_states, native_fates),
    "volcano": partial(_of_states, volcano_fates),
    "yunikorn": partial(_of_states, yunikorn_fates),
}
"""By engine. Where an engine is missing, a review says that its fates are not modelled."""
