"""The engines whose treatment of running work is modelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from apportion_compiler.plain_objects import Manifest
from apportion_review.fates.ack import ack_fates
from apportion_review.fates.kai import kai_fates
from apportion_review.fates.koordinator import koordinator_fates
from apportion_review.fates.kueue import kueue_fates
from apportion_review.fates.native import native_fates
from apportion_review.fates.records import EngineFates
from apportion_review.fates.volcano import volcano_fates
from apportion_review.fates.yunikorn import yunikorn_fates


class FatesOfEngine(Protocol):
    """Decide the fates of a cluster's running work on one engine."""

    def __call__(self, base: Sequence[Manifest], head: Sequence[Manifest], *, now: float | None) -> EngineFates:
        """Return the fates.

        Args:
            base: All objects of the cluster under the base's policy.
            head: The same under the head's.
            now: Time of the snapshot in seconds since the epoch; None for the newest time in it.
        """
        ...


ENGINE_FATES: Mapping[str, FatesOfEngine] = {
    "ack": ack_fates,
    "kai": kai_fates,
    "koordinator": koordinator_fates,
    "kueue": kueue_fates,
    "native": native_fates,
    "volcano": volcano_fates,
    "yunikorn": yunikorn_fates,
}
"""By engine. Where an engine is missing, a review says that its fates are not modelled."""
