"""Errors of YuniKorn's validation, which ends at the first fault, with the text that the scheduler logs."""

from __future__ import annotations


class ConfigRefusedError(Exception):
    """The configuration is rejected as a whole.

    `path`, which may be empty, is such as `partitions[0].queues[1].resources`.
    """

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path
