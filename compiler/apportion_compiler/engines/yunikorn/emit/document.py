"""`queues.yaml`: YAML of mappings, lists and scalars in block style."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import cast

from apportion_policy.evaluation.sanitized_text import comment_lines

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))


def document(value: Mapping[str, object], notes: Sequence[str]) -> str:
    """Return a document with notes as leading comments."""
    lines: list[str] = []
    _append(lines, value, "", "")
    return comment_lines(notes) + "".join(f"{line}\n" for line in lines)


def _append(lines: list[str], value: Mapping[str, object], first: str, indent: str) -> None:
    """Append the lines of a mapping; the first begins differently in a list."""
    below = f"{indent}  "
    start = first
    for key, held in value.items():
        if isinstance(held, Mapping):
            lines.append(f"{start}{_scalar(key)}:" if held else f"{start}{_scalar(key)}: {{}}")
            _append(lines, held, below, below)
        elif isinstance(held, list | tuple):
            lines.append(f"{start}{_scalar(key)}:" if held else f"{start}{_scalar(key)}: []")
            for item in held:
                if isinstance(item, Mapping):
                    _append(lines, cast("Mapping[str, object]", item), f"{indent}- ", below)
                else:
                    lines.append(f"{indent}- {_scalar(item)}")
        else:
            lines.append(f"{start}{_scalar(key)}: {_scalar(held)}")
        start = indent


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else _text(str(value))


@lru_cache(maxsize=65_536)
def _text(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else json.dumps(text)
