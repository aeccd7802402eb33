"""The author's line with carets below the marked range, cropped to the width of the terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from apportion_compiler.spans import Span
from apportion_policy.evaluation.sanitized_text import plain_text

Style = Callable[[str, str], str]
"""Returns a text styled for a role."""

_GUTTER = 5
_MAX_CELLS = 160
_CUT = "…"


def excerpt(lines: list[str], span: Span, style: Style, width: int | None) -> list[str]:
    """Return the numbered line and the carets, or nothing if the file has no such line."""
    if not 0 < span.line <= len(lines) or not lines[span.line - 1].strip():
        return []
    line = lines[span.line - 1].rstrip()
    end = span.end_column if span.end_line == span.line else len(line)
    before, marked, after = line[: span.column], line[span.column : end], line[end:]
    if span.end_line > span.line:
        marked, after = marked.rstrip(), ""
    shown, start, n_carets = _cropped(
        _shown(before), _shown(marked), _shown(after), (width or _MAX_CELLS) - _GUTTER - 3
    )
    number = f"{span.line:>{_GUTTER}} "
    blank = " " * len(number)
    carets = style("caret", "^" * max(1, n_carets))
    return [f"{style('gutter', f'{number}|')} {shown}", f"{style('gutter', f'{blank}|')} {' ' * start}{carets}"]


def _cropped(before: str, marked: str, after: str, cells: int) -> tuple[str, int, int]:
    """Return the text cropped to a number of cells, and the start and length of the mark in cells."""
    if _cells(before + marked + after) <= cells:
        return before + marked + after, _cells(before), _cells(marked)
    if _cells(before) > cells // 2:
        kept = max(8, cells // 3)
        before = _CUT + before[-kept:].lstrip()
    room = cells - _cells(before) - 1
    if _cells(marked) > room:
        return before + _cut(marked, room) + _CUT, _cells(before), room
    return before + marked + _cut(after, room - _cells(marked)) + _CUT, _cells(before), _cells(marked)


def _cut(text: str, cells: int) -> str:
    kept = ""
    for character in text:
        cells -= _cells(character)
        if cells < 0:
            break
        kept += character
    return kept


def _shown(text: str) -> str:
    return plain_text(text, limit=len(text)) if text else ""


def _cells(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
