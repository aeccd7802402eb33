"""The configuration file of a running scheduler: read at startup, and again whenever it changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from apportion_runtime.kube.configuration import SchedulerConfiguration, restart_fields
from apportion_runtime.kube.configuration_document import ConfigurationError, parse_configuration

_POLL_S = 1.0


class ConfigurationFile:
    """A document whose changes take effect while the scheduler runs.

    Args:
        path: The file.
        overrides: Values that take precedence, by attribute: those of flags.
        clock: A monotonic clock, in seconds.

    Raises:
        ConfigurationError: If the file cannot be read or is invalid.
    """

    def __init__(self, path: Path, overrides: Mapping[str, Any], clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._overrides = overrides
        self._clock = clock
        self._checked_s = clock()
        self._seen = self._text()
        self.current = self._started = self._parsed(self._seen)

    def reload(self, warn: Callable[[str], None], say: Callable[[str], None]) -> SchedulerConfiguration:
        """Return the current configuration; an invalid file is reported once, and the previous one is kept."""
        if self._clock() - self._checked_s < _POLL_S:
            return self.current
        self._checked_s = self._clock()
        try:
            text = self._text()
            if text == self._seen:
                return self.current
            self._seen = text
            self.current = self._parsed(text)
        except ConfigurationError as wrong:
            warn(f"{wrong}; keeping the previous configuration")
            return self.current
        later = ", ".join(restart_fields(self._started, self.current))
        say(f"reloaded {self._path}{f'; restart to apply {later}' if later else ''}")
        return self.current

    def _text(self) -> str:
        try:
            return self._path.read_text(encoding="utf-8")
        except OSError as refused:
            raise ConfigurationError(f"{self._path} cannot be read: {refused.strerror}") from None
        except UnicodeDecodeError:
            raise ConfigurationError(f"{self._path}:1: the file is not UTF-8 text") from None

    def _parsed(self, text: str) -> SchedulerConfiguration:
        return SchedulerConfiguration(**{**parse_configuration(text, str(self._path)), **self._overrides})
