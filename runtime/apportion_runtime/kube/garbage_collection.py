"""Garbage collection of a long-running process.

Objects of a cycle that refer to each other are not freed by reference counts. Automatic collection would examine every
cached object in the middle of a cycle; instead, the objects of a cycle stay in the youngest generation, which is collected
after the cycle. The command line turns automatic collection off for its other commands, which end soon.
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


@contextmanager
def collected_between_cycles() -> Iterator[Callable[[], None]]:
    """Turn automatic collection off, and yield a function that collects the garbage of the last cycle."""
    was_enabled = gc.isenabled()
    gc.disable()
    gc.collect()
    # What exists by now lives as long as the process.
    gc.freeze()
    due_s = time.monotonic() + _FULL_S

    def collect() -> None:
        nonlocal due_s
        began_s = time.monotonic()
        if began_s < due_s:
            gc.collect(0)
            return
        gc.collect()
        ended_s = time.monotonic()
        due_s = ended_s + max(_FULL_S, (ended_s - began_s) / _FULL_SHARE)

    try:
        yield collect
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()
