"""The errors of credentials, such as of an `exec` plugin, which the Kubernetes client logs and then ignores.

It would continue as an anonymous user, and the log would have lines of another format.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class _Errors(logging.Handler):
    """Collects the errors that the current thread logs."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            self.messages.append(" ".join(record.getMessage().split()))


@contextmanager
def credential_errors() -> Iterator[Sequence[str]]:
    """Collect the errors that the client logs in the block, each as one line, instead of writing them to stderr."""
    root, errors = logging.getLogger(), _Errors()
    root.addHandler(errors)
    try:
        yield errors.messages
    finally:
        root.removeHandler(errors)
