"""Faults that act at one bind: the proxy holds it until the test lets it go."""

from __future__ import annotations

import threading

from .fault_proxy import PASS, Reaction, Request

_LIMIT_S = 120.0


class HeldBind:
    """Holds the bind with a number, and all others behind it.

    Args:
        number: The bind to hold, counted from one.
        then: What becomes of it when it is released.
    """

    def __init__(self, number: int, then: Reaction = PASS) -> None:
        self._number = number
        self._then = then
        self._n_seen = 0
        self._lock = threading.Lock()
        self._reached = threading.Event()
        self._released = threading.Event()
        self.request: Request | None = None

    @property
    def n_seen(self) -> int:
        """The number of binds that the scheduler sent."""
        return self._n_seen

    def __call__(self, request: Request) -> Reaction:
        """Decide about one request."""
        if not request.is_bind:
            return PASS
        with self._lock:
            self._n_seen += 1
            number = self._n_seen
        if number < self._number:
            return PASS
        if number == self._number:
            self.request = request
            self._reached.set()
        self._released.wait(_LIMIT_S)
        return self._then if number == self._number else PASS

    def wait(self) -> Request:
        """Return the held bind once it is there."""
        assert self._reached.wait(_LIMIT_S), f"{self._n_seen} binds were sent"
        assert self.request is not None
        return self.request

    def release(self) -> None:
        self._released.set()
