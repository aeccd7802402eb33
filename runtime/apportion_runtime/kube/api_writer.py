"""Writes to the API server: sent only while this scheduler leads, and repeated while the server is overloaded."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from http import HTTPStatus
from threading import Event
from typing import Any, Protocol

from apportion_runtime.kube.connection import Connection
from apportion_runtime.kube.errors import NotLeader, Refused, Rejection, Unreachable

_TIMEOUT_S = 30.0
_ATTEMPTS = 5
_FIRST_DELAY_S = 0.1
_LONGEST_DELAY_S = 5.0


class Fence(Protocol):
    """Decides whether a write may be sent."""

    @property
    def write_time_s(self) -> float:
        """The time for which a write that begins at this moment may last; 0 or less if none may begin."""


class SingleScheduler:
    """The fence of a scheduler without leader election."""

    write_time_s = math.inf


class ApiWriter:
    """Sends writes; safe for use by several threads.

    A delay that the server asks for holds back all of them.

    Args:
        connection: The API server.
        fence: Decides whether a write may be sent.
        sleep: Waits for some seconds, or until `ended`; by default, in real time.
        ended: Set when the process must end: no write waits or is repeated any longer, since the process is killed if it
            takes longer than its grace period.
    """

    def __init__(
        self,
        connection: Connection,
        fence: Fence,
        sleep: Callable[[float], object] | None = None,
        ended: Event | None = None,
    ) -> None:
        self._connection = connection
        self._fence = fence
        self._ended = Event() if ended is None else ended
        self._sleep = self._ended.wait if sleep is None else sleep
        self._resumes_s = 0.0

    def write(
        self, method: str, path: str, body: object = None, *, content_type: str = "application/json"
    ) -> dict[str, Any]:
        """Send a write and return the response.

        Raises:
            NotLeader: If this scheduler does not lead, also between two attempts.
            Refused: If the API server rejects it; an earlier attempt may have had its effect (`may_have_effect`).
            Unreachable: If the API server did not respond; the write may have had its effect.
        """
        delay_s, may_have_effect = _FIRST_DELAY_S, False
        for attempt in range(1, _ATTEMPTS + 1):
            if (held_s := self._resumes_s - time.monotonic()) > 0:
                self._sleep(held_s)
            allowed_s = self._fence.write_time_s
            if allowed_s <= 0:
                raise NotLeader("this scheduler does not hold the lease")
            try:
                return self._connection.request(
                    method, path, body, content_type=content_type, timeout_s=min(_TIMEOUT_S, allowed_s)
                )
            except Refused as refused:
                may_have_effect |= (
                    refused.status >= HTTPStatus.INTERNAL_SERVER_ERROR or refused.status == HTTPStatus.REQUEST_TIMEOUT
                )
                refused.may_have_effect = may_have_effect
                if refused.rejection is not Rejection.TEMPORARY or self._is_last(attempt):
                    raise
                wait_s = delay_s
                if refused.retry_after_s is not None:
                    wait_s = min(refused.retry_after_s, _LONGEST_DELAY_S)
                    self._resumes_s = max(self._resumes_s, time.monotonic() + wait_s)
            except Unreachable:
                if self._is_last(attempt):
                    raise
                may_have_effect = True
                wait_s = delay_s
            # Jitter, so that parallel writes do not repeat at the same moment.
            self._sleep(wait_s * (1 + random.random() / 2))  # noqa: S311
            delay_s = min(2 * delay_s, _LONGEST_DELAY_S)
        raise AssertionError("unreachable")

    def _is_last(self, attempt: int) -> bool:
        return attempt == _ATTEMPTS or self._ended.is_set()
