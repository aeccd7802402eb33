"""Fields of an existing manifest that binding replaces or removes, each with both values."""

from __future__ import annotations

import json
from collections.abc import Iterator

from apportion_compiler.workload_shapes import mapping

_MAX_LENGTH = 60
"""Maximum length of a value in a clause, in characters."""


def replaced_fields(before: object, after: object) -> tuple[str, ...]:
    """Return a clause for each field whose value is another one or missing; added fields are not reported.

    Fields with the same name and the same two values, such as a label of several pod templates, are one clause.
    """
    return tuple(dict.fromkeys(_clauses("", before, after)))


def _clauses(name: str, before: object, after: object) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in mapping(before).items():
            if key in after:
                yield from _clauses(key, value, after[key])
            else:
                yield f"{key} is removed; it was {_shown(value)}"
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for one, other in zip(before, after, strict=True):
            yield from _clauses(name, one, other)
    elif before != after and before is not None:
        yield f"{name} is {_shown(after)} instead of {_shown(before)}"


def _shown(value: object) -> str:
    shown = value if isinstance(value, str) and value.isprintable() else json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= _MAX_LENGTH else f"{shown[:_MAX_LENGTH]}…"
