"""The log: a line for each decision, and a warning once for each cause."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from apportion_api.counted_nouns import agreeing, counted

_AGAIN_S = 600.0
_MOST_CAUSES = 1000


class Decision(str):
    """The line of a decision, with its fields for structured logs."""

    __slots__ = ("fields",)

    def __new__(cls, line: str, **fields: object) -> Self:
        made = super().__new__(cls, line)
        made.fields = fields
        return made

    fields: dict[str, object]


def json_line(level: str, message: str, **fields: object) -> str:
    """Return a line of a structured log: the time, the level, the message and the fields, in this order."""
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return json.dumps({"time": at, "level": level, "message": message, **fields}, ensure_ascii=False)


def shutdown_line(
    why: str, last_cycle: str, *, n_cycles: int = 0, n_dropped: int = 0, lease: tuple[str, str] | None = None
) -> Decision:
    """Return the last line of a process.

    Args:
        why: Who has ended it.
        last_cycle: What became of the last cycle, as a clause.
        n_cycles: The number of cycles.
        n_dropped: The number of conditions, events and statuses that were not written.
        lease: The lease, and what became of it; None without leader election.
    """
    notes = agreeing(n_dropped, "condition, event or status was", "conditions, events and statuses were")
    dropped = f", and {n_dropped} {notes} not written" if n_dropped else ""
    released = f"; lease {' '.join(lease)}" if lease is not None else ""
    line = f"ended by {why} after {counted(n_cycles, 'cycle')}: {last_cycle}{dropped}{released}"
    fields = {"shutdown": why, "cycles": n_cycles, "lastCycle": last_cycle, "unwrittenNotes": n_dropped}
    return Decision(line, **fields, **({"lease": lease[1]} if lease is not None else {}))


@dataclass(slots=True)
class _Cause:
    written_s: float
    suppressed: int = 0


class Log:
    """Writes lines; safe for use by several threads.

    Args:
        say: Writes a line.
        clock: A monotonic clock, in seconds.
        is_json: Whether lines are JSON objects.
    """

    def __init__(
        self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic, *, is_json: bool = False
    ) -> None:
        self._say = say
        self._clock = clock
        self._is_json = is_json
        self._causes: dict[str, _Cause] = {}
        self._lock = threading.Lock()

    def decision(self, line: str) -> None:
        """Write a line."""
        if self._is_json:
            line = json_line("info", line, **(line.fields if isinstance(line, Decision) else {}))
        self._say(line)

    def recovery(self, line: str, causes: Collection[str]) -> None:
        """Write a line when causes of warnings have ended: their next occurrence is written again."""
        with self._lock:
            for cause in causes:
                self._causes.pop(cause, None)
        self.decision(line)

    def warning(self, line: str) -> None:
        """Write a line, unless the same one was written in the last ten minutes; then count it."""
        with self._lock:
            now = self._clock()
            cause = self._causes.pop(line, None)
            if cause is not None and now - cause.written_s < _AGAIN_S:
                cause.suppressed += 1
                self._causes[line] = cause
                return
            times = f" ({cause.suppressed} times since the last warning)" if cause and cause.suppressed else ""
            self._causes[line] = _Cause(now)
            if len(self._causes) > _MOST_CAUSES:
                # The cause that occurred least recently.
                del self._causes[next(iter(self._causes))]
        self._say(json_line("warning", f"{line}{times}") if self._is_json else f"warning: {line}{times}")
