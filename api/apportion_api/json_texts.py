"""Texts of JSON values, one after the other, and what is wrong with one that is none: in JSON's terms, with the way out.

JSON is also YAML, so that readers of both would name the fault as a parser of YAML sees it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_BLANK = " \t\r\n"
_BROKEN_OFF = ("true", "false", "null", "-", ".", "e+", "e-", "E+", "E-")
# What a value may break off in, from where the parser stops.


@dataclass(frozen=True, slots=True)
class JsonFault:
    """A fault of a text.

    Attributes:
        message: What is wrong, as a clause without its place.
        hint: What to do, in the imperative.
        line: From 1.
        column: From 1.
    """

    message: str
    hint: str
    line: int
    column: int

    @property
    def sentence(self) -> str:
        """The fault and its cure, for a message that names the place before it."""
        return f"{self.message}; {self.hint}"


def json_fault(text: str) -> JsonFault | None:
    """Return the first fault of a text that begins with an object or a list, several in a row included.

    Returns:
        None if the text is JSON, or begins with something else.
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
    """Yield each JSON value of a text with where it begins and ends. Raises `ValueError`, as `json` does."""
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


_HINT = "correct the file, or write it again with `kubectl get … -o json`"
_AGAIN = "write it again with `kubectl get … -o json`, and check that kubectl and the copy have finished"


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
