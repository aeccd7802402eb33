"""JSON in an annotation, which anybody may have written: whatever is wrong with it is a `ValueError`."""

from __future__ import annotations

import json


def json_value(written: str) -> object:
    """Return what a JSON text says. Raises `ValueError`."""
    try:
        found: object = json.loads(written)
    except json.JSONDecodeError as malformed:
        raise ValueError(malformed.msg) from malformed
    except RecursionError as deep:
        raise ValueError("it is nested too deeply") from deep
    return found
