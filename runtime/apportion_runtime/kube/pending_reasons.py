"""Reasons of pending pods and pod groups, as reported in events: each reason once, regardless of its numbers."""

from __future__ import annotations

import re

_NUMBERS = re.compile(r"[0-9][0-9.]*(?:e[+-][0-9]+)?(?:[kMGTPE]i?|Ki|m|s)?(?![A-Za-z])|[0-9.]+", re.ASCII)
"""Numbers with their units, which may change with the amount: `12`, `12500m`, `2Gi`."""


class PendingReasons:
    """The last reported reason of each object that is pending."""

    def __init__(self) -> None:
        self._before: dict[str, str] = {}
        self._now: dict[str, str] = {}

    def is_new(self, uid: str, why: str) -> bool:
        """Record a reason; return whether it is new. A change of numbers only, such as of free GPUs, is not new."""
        words = _NUMBERS.sub("", why)
        is_new = self._now.get(uid, self._before.get(uid)) != words
        self._now[uid] = words
        return is_new

    def forget(self, uid: str) -> None:
        """Forget an object that is not pending any more."""
        self._before.pop(uid, None)
        self._now.pop(uid, None)

    def end_cycle(self) -> None:
        """Forget the objects that were not pending in this cycle."""
        self._before, self._now = self._now, {}
