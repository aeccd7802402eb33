"""A limit on the work of victim searches, for callers that need an answer in bounded time.

The engine has no such limit: a cycle whose search reaches it is incomplete. The limit counts work and not time,
so that the same input gives the same answer.
"""

from __future__ import annotations


class SearchLimitExceededError(Exception):
    """The victim searches of a session have reached their limit; its cycle is incomplete."""


class SearchLimit:
    """How many evictions may still be simulated."""

    __slots__ = ("_left",)

    def __init__(self, n_evictions: int) -> None:
        self._left = n_evictions

    @property
    def is_exceeded(self) -> bool:
        """Whether a search was stopped."""
        return self._left < 0

    def spend(self, n_evictions: int) -> None:
        """Count simulated evictions. Raises `SearchLimitExceededError` once there are more than the limit."""
        self._left -= n_evictions
        if self._left < 0:
            raise SearchLimitExceededError
