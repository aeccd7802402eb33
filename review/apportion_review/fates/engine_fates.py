"""The engines whose treatment of running work is modelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from apportion_compiler.plain_objects import Manifest
from apportion_review.fates.kueue import kueue_fates
from apportion_review.fates.records import EngineFates


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


ENGINE_FATES: Mapping[str, FatesOfEngine] = {"kueue": kueue_fates}
"""By engine. Where an engine is missing, a review says that its fates are not modelled."""
