"""Exit codes of the command, which are documented and never reused."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the command's exit says."""

    OK = 0
    FINDINGS = 1
    """Findings at or above `--fail-on`."""
    USAGE = 2
    CANNOT = 3
    """It could not be done: unreadable input, unreachable cluster, missing program."""
    CHANGES = 10
    """Something differs from what is written or deployed, where the command was asked to tell."""
    INTERNAL = 70
    """A fault of this program."""
    INTERRUPTED = 130
