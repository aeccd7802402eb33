"""Streams of JSON values, and faults of invalid ones, in JSON's terms and with a hint.

JSON is also YAML, so a reader of both would otherwise report the fault in YAML's terms.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_BLANK = " \t\r\n"
_BROKEN_OFF = ("true", "false", "null", "-", ".", "e+", "e-", "E+", "E-")
# The context of an unexpected end, by where the parser stops.


@dataclass(frozen=True, slots=True)
class JsonFault:
    """A fault of a JSON text.

    Attributes:
        message: The fault, as a clause without its location.
        hint: The remedy, in the imperative.
        line: From 1.
        column: From 1.
    """

    message: str
    hint: str
    line: int
    column: int


def json_fault(text: str) -> JsonFault | None:
    """Return the first fault of a stream that begins with an object or a list.

    Returns:
        None if the text is valid JSON, or begins differently.
    """
    if text.lstrip(_BLANK)[:1] not in ("{", "["):
        return None
    try:
        for _ in json_spans(text):
            pass
    except json.JSONDecodeError as wrong:
        return _fault(text, wrong)
    except RecursionError:
        return JsonFault("invalid JSON: too many levels of nesting", _HINT, 1, 1)
    except ValueError:
        return JsonFault("invalid JSON: a number has too many digits", _HINT, 1, 1)
    return None


def json_spans(text: str) -> Iterator[tuple[int, int, Any]]:
    """Yield each JSON value of a text with its start and end. Raises `ValueError`, like `json`."""
    decoder = json.JSONDecoder()
    at = 0
    while True:
        while at < len(text) and text[at] in _BLANK:
            at += 1
        if at == len(text):
            return
        value, end = decoder.raw_decode(text, at)
        yield at, end, value
        at = end


_HINT = "correct the file, or export it again with `kubectl get … -o json`"
_AGAIN = "export it again with `kubectl get … -o json`, and check that the export and any copy are complete"


def _fault(text: str, wrong: json.JSONDecodeError) -> JsonFault:
    whole = text.rstrip(_BLANK)
    rest = whole[wrong.pos :]
    is_cut = (
        not rest
        or wrong.msg.startswith("Unterminated string")
        or any(value.startswith(rest) for value in _BROKEN_OFF)
        or ("escape" in wrong.msg and '"' not in rest)
    )
    if is_cut:
        line, column = whole.count("\n") + 1, len(whole) - whole.rfind("\n") - 1
        return JsonFault("the file ends before its JSON is complete", _AGAIN, line, column)
    found = rest[0] if rest[0].isprintable() else f"U+{ord(rest[0]):04X}"
    message_text = f"{wrong.msg[0].lower()}{wrong.msg[1:]}".removesuffix(" at")
    return JsonFault(f"invalid JSON: {message_text}, found `{found}`", _HINT, wrong.lineno, wrong.colno)
