"""`queues.yaml`: YAML of mappings, lists and scalars in block style."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from apportion_policy.evaluation.sanitized_text import comment_lines

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))


def document(value: Mapping[str, object], notes: Sequence[str]) -> str:
    """Return a document with notes as leading comments."""
    return comment_lines(notes) + "".join(f"{line}\n" for line in _lines(value, ""))


def _lines(value: Mapping[str, object], indent: str) -> Iterator[str]:
    for key, held in value.items():
        if isinstance(held, Mapping):
            if held:
                yield f"{indent}{_scalar(key)}:"
                yield from _lines(held, f"{indent}  ")
            else:
                yield f"{indent}{_scalar(key)}: {{}}"
        elif isinstance(held, list | tuple):
            if not held:
                yield f"{indent}{_scalar(key)}: []"
                continue
            yield f"{indent}{_scalar(key)}:"
            yield from _items(held, indent)
        else:
            yield f"{indent}{_scalar(key)}: {_scalar(held)}"


def _items(held: Sequence[object], indent: str) -> Iterator[str]:
    for item in held:
        if not isinstance(item, Mapping):
            yield f"{indent}- {_scalar(item)}"
            continue
        mapping = cast("Mapping[str, object]", item)
        lines = _lines(mapping, f"{indent}  ")
        first = next(lines)
        yield f"{indent}- {first[len(indent) + 2 :]}"
        yield from lines


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    text = str(value)
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else json.dumps(text)
