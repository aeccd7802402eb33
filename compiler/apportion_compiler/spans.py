"""Spans of an author's text, counted in characters.

Python's syntax tree counts columns in bytes of UTF-8, and YAML's parser in characters; code that shows or edits text
counts characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from apportion_policy.source import SourceLocation

Place = tuple[str, int, int, int, int]
"""A location as a dictionary key: all `SourceLocation`s compare equal."""

# Line ends of Python and YAML; `str.splitlines` also splits at form feeds and others.
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of characters: lines count from 1, columns from 0."""

    line: int
    column: int
    end_line: int
    end_column: int


def place(at: SourceLocation) -> Place:
    """Return a location as a key."""
    return (at.file, at.line, at.column, at.end_line, at.end_column)


def split_lines(text: str) -> list[str]:
    """Return the lines of a file without their line ends; a text that ends with a line end has an empty last line."""
    return _LINE_END.split(text)


def span_of(at: SourceLocation, lines: list[str] | None) -> Span:
    """Return the span of a declaration; `lines` are those of its file, None if it cannot be read.

    A location without an end extends to the end of its line, without indentation.
    """
    end_line = at.end_line or at.line
    column = _characters(at, lines, at.line, at.column)
    if at.end_line and (at.end_line, at.end_column) > (at.line, at.column):
        return Span(at.line, column, end_line, _characters(at, lines, end_line, at.end_column))
    line = _line(lines, at.line).rstrip()
    column = max(column, len(line) - len(line.lstrip()))
    return Span(at.line, column, at.line, max(len(line), column + 1))


def character_column(line: str, byte_column: int) -> int:
    """Return the number of characters before a byte offset of the line in UTF-8."""
    return len(line.encode("utf-8")[:byte_column].decode("utf-8", "ignore"))


def offset(lines_start: list[int], line: int, column: int) -> int:
    """Return the position in a text of a line and column, given where each line starts."""
    return lines_start[line - 1] + column


def line_starts(text: str) -> list[int]:
    """Return the position of each line's first character."""
    return [0, *(match.end() for match in _LINE_END.finditer(text))]


def _characters(at: SourceLocation, lines: list[str] | None, line: int, column: int) -> int:
    return character_column(_line(lines, line), column) if lines and at.file.endswith(".py") else column


def _line(lines: list[str] | None, number: int) -> str:
    return lines[number - 1] if lines and 0 < number <= len(lines) else ""
