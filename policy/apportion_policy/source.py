"""Source locations of declarations.

Locations are excluded from equality, so that equal declarations on different lines are equal. Declarations in Python
find their line by walking the stack past this package and pydantic; documents use the marks of the parser.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType

import pydantic

_SKIPPED = (str(Path(__file__).parent), str(Path(pydantic.__file__).parent), "<frozen")
_MAX_CALLERS = 8

_Span = tuple[int | None, int | None, int | None, int | None]
_positions: dict[int, list[_Span]] = {}
_locations: dict[tuple[object, ...], tuple[SourceLocation, tuple[CodeType, ...]]] = {}
_is_author: dict[str, bool] = {}


@dataclass(frozen=True, slots=True)
class CallSite:
    """A line of the author's code that called a helper function."""

    file: str = field(compare=False)
    line: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """The author's file and the span of the expression or document node, 1-based lines, 0-based columns.

    `callers` has the author's outer frames, nearest first, if a helper function created the declaration.
    """

    file: str = field(compare=False)
    line: int = field(compare=False)
    column: int = field(default=0, compare=False)
    end_line: int = field(default=0, compare=False)
    end_column: int = field(default=0, compare=False)
    callers: tuple[CallSite, ...] = field(default=(), compare=False)


NOWHERE = SourceLocation("<unknown>", 0)


def author_location(depth: int = 1) -> SourceLocation:
    """Return the author's innermost frame, with the frames that called it; `NOWHERE` if there is none.

    Args:
        depth: Number of innermost frames that are not the author's; 1 is only the caller's.
    """
    frame: FrameType | None = sys._getframe(depth)
    is_author = _is_author
    while True:
        if frame is None:
            return NOWHERE
        code = frame.f_code
        name = code.co_filename
        if is_author[name] if name in is_author else _of_author(name):
            break
        # Declarations that this package itself creates during its import are not the importer's.
        if code.co_name == "<module>":
            return NOWHERE
        frame = frame.f_back
    # Runs for every declaration: a single pass computes the key, and each location is built once.
    key = [id(code), frame.f_lasti]
    caller = frame
    while code.co_name != "<module>" and len(key) <= 2 * _MAX_CALLERS and caller.f_back is not None:
        caller = caller.f_back
        code = caller.f_code
        name = code.co_filename
        if is_author[name] if name in is_author else _of_author(name):
            key += (id(code), caller.f_lasti)
    found = tuple(key)
    known = _locations.get(found)
    if known is None:
        callers = _callers(frame)
        # The identity of a code object is unique only while it exists, so the value holds a reference to it.
        codes = (frame.f_code, *(caller.f_code for caller in callers))
        known = _locations[found] = (_located(frame, callers), codes)
    return known[0]


def _located(frame: FrameType, callers: list[FrameType]) -> SourceLocation:
    line, end_line, column, end_column = _span(frame)
    sites = tuple(CallSite(caller.f_code.co_filename, caller.f_lineno) for caller in callers)
    return SourceLocation(frame.f_code.co_filename, line, column, end_line, end_column, sites)


def _callers(frame: FrameType) -> list[FrameType]:
    found: list[FrameType] = []
    # A module's own frame was entered by an import: outer frames are not part of the declaration.
    while frame.f_code.co_name != "<module>" and frame.f_back is not None and len(found) < _MAX_CALLERS:
        frame = frame.f_back
        if _of_author(frame.f_code.co_filename):
            found.append(frame)
    return found


def _of_author(filename: str) -> bool:
    known = _is_author.get(filename)
    if known is None:
        known = _is_author[filename] = not filename.startswith(_SKIPPED)
    return known


def _span(frame: FrameType) -> tuple[int, int, int, int]:
    code = frame.f_code
    spans = _positions.get(id(code))
    if spans is None:
        spans = _positions[id(code)] = list(code.co_positions())
    index = frame.f_lasti // 2
    line, end_line, column, end_column = spans[index] if index < len(spans) else (None, None, None, None)
    start = line or frame.f_lineno
    return start, end_line or start, column or 0, end_column or 0
