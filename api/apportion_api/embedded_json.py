"""JSON in annotations, which is untrusted: any fault is a `ValueError`."""

from __future__ import annotations

import json


def json_value(written: str) -> object:
    """Parse a JSON text. Raises `ValueError`."""
    try:
        found: object = json.loads(written)
    except json.JSONDecodeError as malformed:
        raise ValueError(malformed.msg) from malformed
    except RecursionError as deep:
        raise ValueError("it is nested too deeply") from deep
    return found
