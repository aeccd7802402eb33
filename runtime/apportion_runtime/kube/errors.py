"""What the scheduler hears of an API server that does not do as asked."""

from __future__ import annotations


class Unreachable(Exception):
    """There is no way to the API server: one clause."""


class Refused(Exception):
    """The API server said no; `status` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
