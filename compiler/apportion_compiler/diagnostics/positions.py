"""Places as machine formats count them: lines and columns from 1, columns in characters."""

from __future__ import annotations

from dataclasses import dataclass, field

from apportion_compiler.diagnostics.report import Read
from apportion_compiler.spans import Span, span_of, split_lines
from apportion_policy.source import SourceLocation


@dataclass(frozen=True, slots=True)
class Region:
    """A range of text; the end column is one past its last character."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(slots=True)
class Positions:
    """Converts locations to regions; caches the lines of each file."""

    read: Read
    _lines: dict[str, list[str] | None] = field(default_factory=dict[str, "list[str] | None"])

    def region(self, at: SourceLocation) -> Region | None:
        """Return the region of a declaration; None if only its file is known."""
        if not at.line:
            return None
        if at.file not in self._lines:
            text = self.read(at.file)
            self._lines[at.file] = None if text is None else split_lines(text)
        return region(span_of(at, self._lines[at.file]))


def region(span: Span) -> Region:
    """Return a span counted from 1."""
    return Region(span.line, span.column + 1, span.end_line, span.end_column + 1)
