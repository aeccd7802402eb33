"""The log: a line for each decision, and a warning once for each cause."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

_AGAIN_S = 600.0
_MOST_CAUSES = 1000


@dataclass(slots=True)
class _Cause:
    said_s: float
    suppressed: int = 0


class Log:
    """Writes lines; safe for use by several threads.

    Args:
        say: Writes a line.
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._clock = clock
        self._causes: dict[str, _Cause] = {}
        self._lock = threading.Lock()

    def decision(self, line: str) -> None:
        """Write a line."""
        self._say(line)

    def warning(self, line: str) -> None:
        """Write a line, unless the same one was written in the last ten minutes; then count it."""
        with self._lock:
            now = self._clock()
            cause = self._causes.pop(line, None)
            if cause is not None and now - cause.said_s < _AGAIN_S:
                cause.suppressed += 1
                self._causes[line] = cause
                return
            times = f" ({cause.suppressed} times since the last warning)" if cause and cause.suppressed else ""
            self._causes[line] = _Cause(now)
            if len(self._causes) > _MOST_CAUSES:
                # The cause that occurred least recently.
                del self._causes[next(iter(self._causes))]
        self._say(f"warning: {line}{times}")
