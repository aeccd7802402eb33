"""Reasons to give up that are not faults of this program."""

from __future__ import annotations


class PreconditionError(Exception):
    """It could not be done: one clause without a full stop, and what to do about it. Exit code 3."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
