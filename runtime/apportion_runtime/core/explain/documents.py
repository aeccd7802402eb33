"""Explanations as plain values, for JSON.

Entry point: `document(record)`, for every record of this package. A reason has its kind, `no-node` for `NoNode`, and
its text in addition to its numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from apportion_runtime.core.explain.pending_reasons import PendingReason

_WORD = re.compile(r"(?<!^)(?=[A-Z])")


def document(value: Any) -> Any:
    """Return a record as mappings, lists, strings and numbers."""
    if is_dataclass(value) and not isinstance(value, type):
        made = {field.name: document(getattr(value, field.name)) for field in fields(value)}
        if isinstance(value, PendingReason):
            kind = _WORD.sub("-", type(value).__name__).lower()
            return {"kind": kind, "text": value.text, **made}
        return made
    if isinstance(value, Mapping):
        return {str(key): document(of) for key, of in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [document(each) for each in value]
    return value
