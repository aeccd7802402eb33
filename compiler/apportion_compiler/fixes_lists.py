"""Add an item to a bracketed list in the author's text, or remove one, preserving the layout of the list.

A list is the arguments of a call, a dict, or a flow mapping: items in brackets, separated by commas.
"""

from __future__ import annotations

from dataclasses import dataclass

from apportion_compiler.spans import Span

_Found = tuple[Span, str]


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """An item (`gpu=8`) and its value (`8`)."""

    whole: Span
    value: Span


def appended(lines: list[str], items: list[Item], whole: Span, text: str) -> _Found | None:
    """Return the edit that appends `text` to the list that ends with `whole`'s last character."""
    close = (whole.end_line, whole.end_column - 1)
    if not items:
        return Span(*close, *close), text
    last = items[-1].whole
    anchor, has_comma = _after_item(lines, (last.end_line, last.end_column), close)
    line, column = anchor
    if line == close[0] or not _begins_line(lines, last):
        separator = " " if has_comma else ", "
        return Span(line, column, line, column), separator + text
    rest = lines[line - 1][column:]
    indent = lines[last.line - 1][: last.column]
    comma = "" if has_comma else ","
    tail = "," if has_comma else ""
    return Span(line, column, line, column + len(rest)), f"{comma}{rest}\n{indent}{text}{tail}"


def removed(lines: list[str], items: list[Item], position: int, *, comma_may_end: bool = True) -> _Found | None:
    """Return the edit that removes an item, with its comma and, if it has its own lines, with those.

    JSON does not allow a trailing comma.
    """
    item = items[position].whole
    rest = lines[item.end_line - 1][item.end_column :].lstrip()
    takes_comma = rest.startswith(",") or position == 0 or comma_may_end
    if takes_comma and _begins_line(lines, item) and _is_alone(rest):
        return whole_lines(lines, item.line, item.end_line), ""
    if position + 1 < len(items):
        following = items[position + 1].whole
        return Span(item.line, item.column, following.line, following.column), ""
    if position > 0:
        before = items[position - 1].whole
        return Span(before.end_line, before.end_column, item.end_line, item.end_column), ""
    return Span(item.line, item.column, item.end_line, item.end_column + (1 if rest.startswith(",") else 0)), ""


def whole_lines(lines: list[str], first: int, last: int) -> Span:
    """Return the span of lines with their line ends; the last line of a file may have none."""
    return Span(first, 0, last + 1, 0) if last < len(lines) else Span(first, 0, last, len(lines[last - 1]))


def _after_item(lines: list[str], start: tuple[int, int], close: tuple[int, int]) -> tuple[tuple[int, int], bool]:
    """Return where the last item ends (a value may be in parentheses), and whether a comma follows."""
    anchor, has_comma = start, False
    for line in range(start[0], close[0] + 1):
        text = lines[line - 1]
        column = start[1] if line == start[0] else 0
        end = close[1] if line == close[0] else len(text)
        while column < end and text[column] != "#":
            if text[column] in ",)":
                anchor, has_comma = (line, column + 1), text[column] == ","
            column += 1
    return anchor, has_comma


def _begins_line(lines: list[str], span: Span) -> bool:
    return not lines[span.line - 1][: span.column].strip()


def _is_alone(rest: str) -> bool:
    after_comma = rest.removeprefix(",").lstrip()
    return not after_comma or after_comma.startswith("#")
