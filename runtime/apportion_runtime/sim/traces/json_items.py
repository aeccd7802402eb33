"""The items of JSON files with the line of each: arrays of objects, and streams of objects."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from apportion_runtime.sim.traces.records import SkippedRow, Source, TraceError
from apportion_runtime.sim.traces.rows import BadRow

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def array_items(source: Source, cure: str) -> Iterator[tuple[int, Any]]:
    """Yield the first line and the value of each item of a JSON array.

    Raises:
        TraceError: If it is not an array, with the given remedy.
    """
    text = source.text.removeprefix("\ufeff")
    at = _after_space(text, 0)
    if not text.startswith("[", at):
        raise TraceError(source.file, 1, "the file is not a JSON array", cure)
    at = _after_space(text, at + 1)
    lines = _Lines(text)
    while not text.startswith("]", at):
        line = lines.line_of(at)
        value, at = _decoded(source, text, at, lines, cure)
        yield line, value
        at = _after_space(text, at)
        if text.startswith(",", at):
            at = _after_space(text, at + 1)
        elif not text.startswith("]", at):
            raise TraceError(
                source.file, lines.line_of(at), "expected `,` or `]` after an item of the JSON array", cure
            )
    rest = _after_space(text, at + 1)
    if rest < len(text):
        raise TraceError(source.file, lines.line_of(rest), "unexpected data after the JSON array", cure)


def stream_items(source: Source, cure: str) -> Iterator[tuple[int, Any]]:
    """Yield the first line and the value of each of several JSON documents, one after another.

    Raises:
        TraceError: If a document is invalid, with the given remedy.
    """
    text = source.text.removeprefix("\ufeff")
    lines = _Lines(text)
    at = _after_space(text, 0)
    while at < len(text):
        line = lines.line_of(at)
        value, at = _decoded(source, text, at, lines, cure)
        yield line, value
        at = _after_space(text, at)


def read_items(
    file: str, items: Iterable[tuple[int, Any]], take: Callable[[int, Mapping[str, Any]], None], skips: list[SkippedRow]
) -> int:
    """Pass the line and the value of each item to `take`, or add it to the skips; return the number of items."""
    n_items = 0
    for line, item in items:
        n_items += 1
        try:
            if not isinstance(item, Mapping):
                raise BadRow("the item is not a JSON object", "correct or remove it")
            take(line, item)
        except BadRow as bad:
            skips.append(SkippedRow(file, line, bad.reason, bad.cure))
    return n_items


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _decoded(source: Source, text: str, at: int, lines: _Lines, cure: str) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as wrong:
        raise TraceError(source.file, lines.line_of(wrong.pos), f"invalid JSON ({wrong.msg})", cure) from None
    except ValueError:
        raise TraceError(source.file, lines.line_of(at), "an integer in the JSON has too many digits", cure) from None
    except RecursionError:
        raise TraceError(source.file, lines.line_of(at), "the JSON is nested too deeply", cure) from None


class _Lines:
    """The lines of ascending positions of a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at, self._line = 0, 1

    def line_of(self, at: int) -> int:
        """Return the line of a position, from 1, which is not before that of the previous call."""
        self._line += self._text.count("\n", self._at, at)
        self._at = at
        return self._line
