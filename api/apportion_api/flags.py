"""Booleans in flags and annotations. Source: Go's `strconv.ParseBool`."""

from __future__ import annotations

TRUE_TEXTS = ("1", "t", "T", "true", "TRUE", "True")
FALSE_TEXTS = ("0", "f", "F", "false", "FALSE", "False")


def parse_bool(text: str) -> bool:
    """Parse a Boolean. Raises `ValueError`."""
    if text in TRUE_TEXTS:
        return True
    if text in FALSE_TEXTS:
        return False
    raise ValueError(f"`{text}` is neither true nor false")
