"""Waiting for an event until another one ends the process."""

from __future__ import annotations

import threading
import time

_POLL_S = 0.2


def is_set_within(timeout_s: float, awaited: threading.Event, ended: threading.Event | None) -> bool:
    """Return whether one of two events is set within a time."""
    deadline = time.monotonic() + timeout_s
    while not (awaited.wait(_POLL_S) or (ended is not None and ended.is_set())):
        if time.monotonic() >= deadline:
            return False
    return True
