"""Errors that are not bugs of this program."""

from __future__ import annotations


class PreconditionError(Exception):
    """Environment error: one clause without a full stop, and a hint. Exit code 3."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
