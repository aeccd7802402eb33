"""Errors of requests to the API server."""

from __future__ import annotations


class Unreachable(Exception):
    """The API server cannot be reached; the message is one clause."""


class Refused(Exception):
    """The API server rejected a request; `status` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
