"""How a check ends that YuniKorn fails: at its first fault, with the text that the scheduler would log."""

from __future__ import annotations


class ConfigRefusedError(Exception):
    """The configuration is refused as a whole. `path` is where: `partitions[0].queues[1].resources`; may be empty."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path
