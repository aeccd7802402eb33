"""Garbage collection of a long-running process.

Objects of a cycle that refer to each other are not freed by reference counts. Automatic collection would examine every
cached object in the middle of a cycle; instead, the objects of a cycle stay in the youngest generation, which is collected
after the cycle. All generations are collected at a quiet time, since a pod that arrives meanwhile waits for it. The command line turns automatic collection off for its other commands, which end soon.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_FULL_S = 120.0
"""The shortest time between two collections of all generations: for what outlived its cycle."""
_FULL_SHARE = 0.001
"""The largest part of the time that these collections take: half a second with 50,000 pods."""
_QUIET_S = 1.0
"""The time since the last cycle after which a collection is unlikely to delay a pod."""
_LATEST = 3
"""After so many times the shortest time between two collections, one does not wait for a quiet time."""


@contextmanager
def collected_between_cycles() -> Iterator[Callable[[float], None]]:
    """Turn automatic collection off, and yield a function that collects garbage, given the seconds since the last cycle.

    It is called after each cycle, with 0, and from time to time while none runs.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    gc.collect()
    # What exists by now lives as long as the process.
    gc.freeze()
    ended_s, rest_s, has_run = time.monotonic(), _FULL_S, False

    def collect(idle_s: float) -> None:
        nonlocal ended_s, rest_s, has_run
        has_run |= not idle_s
        began_s = time.monotonic()
        if not has_run or began_s - ended_s < (rest_s if idle_s >= _QUIET_S else _LATEST * rest_s):
            if not idle_s:
                gc.collect(0)
            return
        gc.collect()
        has_run = False
        ended_s = time.monotonic()
        rest_s = max(_FULL_S, (ended_s - began_s) / _FULL_SHARE)

    try:
        yield collect
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()
