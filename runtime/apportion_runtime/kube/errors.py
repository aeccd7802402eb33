"""Errors of requests to the API server."""

from __future__ import annotations

from enum import Enum
from http import HTTPStatus


class Origin(Enum):
    """Who refused a request.

    Attributes:
        ACCOUNT: Authentication or authorization: the account is unknown, or lacks a permission. An API server that was
            started refuses all accounts until it has read their roles.
        ADMISSION: An admission webhook, policy or plugin.
        BUDGET: A PodDisruptionBudget.
        SERVER: The API server, because of the object or its own state.
    """

    ACCOUNT = "account"
    ADMISSION = "admission"
    BUDGET = "budget"
    SERVER = "server"


_OF_OBJECT = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE, HTTPStatus.CONFLICT)
"""Codes that are about the stored object; those of an admission webhook are not."""


class Rejection(Enum):
    """The kinds of rejected writes, by what can be done about them.

    Attributes:
        GONE: The object does not exist any more.
        CONFLICT: It has changed; the watch delivers the newer version.
        TEMPORARY: The server is overloaded or unavailable; the write may be repeated.
        BUDGET: A PodDisruptionBudget does not allow the eviction.
        PERMANENT: The same write will be rejected again.
    """

    GONE = "gone"
    CONFLICT = "conflict"
    TEMPORARY = "temporary"
    BUDGET = "budget"
    PERMANENT = "permanent"


class Unreachable(Exception):
    """The API server cannot be reached; the message is one clause."""


class NotLeader(Exception):
    """A write was not sent because this scheduler does not hold the lease."""


class MissingShard(Exception):
    """The SchedulingShard of this scheduler does not exist; the message is one clause."""


class Refused(Exception):
    """The API server rejected a request.

    Attributes:
        status: The HTTP status.
        retry_after_s: The delay that the server asks for, in seconds.
        origin: Who refused it.
        may_have_effect: Whether an earlier attempt of the same write had no response, or failed inside the server, so
            that it may have had its effect.
    """

    def __init__(
        self, status: int, message: str, *, retry_after_s: float | None = None, origin: Origin = Origin.SERVER
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s
        self.origin = origin
        self.may_have_effect = False

    @property
    def rejection(self) -> Rejection:
        """The class of the rejection."""
        if self.origin is Origin.BUDGET:
            return Rejection.BUDGET
        if self.origin is Origin.ADMISSION and self.status in _OF_OBJECT:
            return Rejection.PERMANENT
        match self.status:
            case HTTPStatus.NOT_FOUND | HTTPStatus.GONE:
                return Rejection.GONE
            case HTTPStatus.CONFLICT:
                return Rejection.CONFLICT
            case HTTPStatus.TOO_MANY_REQUESTS | HTTPStatus.REQUEST_TIMEOUT:
                return Rejection.TEMPORARY
            case status:
                return Rejection.TEMPORARY if status >= HTTPStatus.INTERNAL_SERVER_ERROR else Rejection.PERMANENT


def connection_fault(failed: Refused | Unreachable) -> str | None:
    """Return why no request can succeed; None if the failure may concern this request only."""
    if isinstance(failed, Unreachable):
        return str(failed)
    if failed.status == HTTPStatus.UNAUTHORIZED:
        return f"the API server rejects the credentials of this scheduler: {failed}"
    return None
