"""Garbage collection of a long-running process.

A cycle builds a session whose parts refer to each other, so reference counts do not free it. Automatic collection would
examine every cached object in the middle of a cycle; instead, the objects of a cycle stay in the youngest generation,
which is collected after the cycle. The command line turns automatic collection off for its other commands, which end soon.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_FULL_S = 120.0
"""The time between two collections of all generations: for what outlived its cycle."""


@contextmanager
def collected_between_cycles() -> Iterator[Callable[[], None]]:
    """Turn automatic collection off, and yield a function that collects what the last cycle left."""
    was_enabled = gc.isenabled()
    gc.disable()
    gc.collect()
    # What exists by now lives as long as the process.
    gc.freeze()
    collected_at = time.monotonic()

    def collect() -> None:
        nonlocal collected_at
        is_full = time.monotonic() - collected_at >= _FULL_S
        if is_full:
            collected_at = time.monotonic()
        gc.collect(2 if is_full else 0)

    try:
        yield collect
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()
