"""Exit codes of the command, which are documented and never reused."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes."""

    OK = 0
    FINDINGS = 1
    """Findings at or above `--fail-on`."""
    USAGE = 2
    CANNOT = 3
    """Environment error: unreadable input, unreachable cluster, missing program."""
    CHANGES = 10
    """The rendered trees or clusters differ, for commands that check this."""
    GATE_FAILED = 11
    """A threshold of `review` is exceeded, a required approval is missing, or work is evicted for a workload (`fit`)."""
    INTERNAL = 70
    """Internal error."""
    INTERRUPTED = 130
