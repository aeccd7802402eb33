"""Exponential backoff for retries after rejections."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class _Delay:
    until_s: float
    delay_s: float
    why: str


class Backoffs(Generic[K]):
    """Delays by key, which double with each rejection.

    A key that was not rejected for the longest delay starts again with the first.

    Args:
        first_s: The first delay.
        longest_s: The longest delay.
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, first_s: float, longest_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._clock = clock
        self._delays: dict[K, _Delay] = {}
        self._asked_s = -math.inf

    def reject(self, key: K, why: str) -> float:
        """Record a rejection, and return the delay in seconds."""
        before = self._delays.get(key)
        delay_s = self._first_s if before is None else min(2 * before.delay_s, self._longest_s)
        self._delays[key] = _Delay(self._clock() + delay_s, delay_s, why)
        return delay_s

    def active(self) -> Mapping[K, str]:
        """Return the keys that must wait, with the reasons."""
        now = self._clock()
        forgotten = [key for key, one in self._delays.items() if now - one.until_s >= self._longest_s]
        for key in forgotten:
            del self._delays[key]
        return {key: one.why for key, one in self._delays.items() if now < one.until_s}

    def remaining_s(self) -> float | None:
        """Return the time until the first key may be tried again; None if no key waits.

        It is zero if a delay has ended since the last call, maybe after its key was looked up.
        """
        before_s, self._asked_s = self._asked_s, self._clock()
        ends = [one.until_s for one in self._delays.values() if one.until_s > before_s]
        return max(min(ends) - self._asked_s, 0.0) if ends else None
