"""Errors of requests to the API server."""

from __future__ import annotations

from enum import Enum
from http import HTTPStatus

_DENIED_ACCOUNT = 'forbidden: User "'
"""Part of the message of the API server's authorizer; that of admission is another one."""


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
        is_budget: Whether a PodDisruptionBudget is the cause.
    """

    def __init__(
        self, status: int, message: str, *, retry_after_s: float | None = None, is_budget: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s
        self.is_budget = is_budget

    @property
    def is_of_account(self) -> bool:
        """Whether the account is the cause, not the object: it is unknown, or lacks a permission.

        An API server that was started rejects all accounts until it has read their roles.
        """
        is_denied = self.status == HTTPStatus.FORBIDDEN and _DENIED_ACCOUNT in str(self)
        return is_denied or self.status == HTTPStatus.UNAUTHORIZED

    @property
    def rejection(self) -> Rejection:
        """The class of the rejection."""
        match self.status:
            case HTTPStatus.NOT_FOUND | HTTPStatus.GONE:
                return Rejection.GONE
            case HTTPStatus.CONFLICT:
                return Rejection.CONFLICT
            case HTTPStatus.TOO_MANY_REQUESTS if self.is_budget:
                return Rejection.BUDGET
            case HTTPStatus.TOO_MANY_REQUESTS | HTTPStatus.REQUEST_TIMEOUT:
                return Rejection.TEMPORARY
            case status:
                return Rejection.TEMPORARY if status >= HTTPStatus.INTERNAL_SERVER_ERROR else Rejection.PERMANENT
