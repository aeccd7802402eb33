"""Edits of values in Python source."""

from __future__ import annotations

import ast
from functools import lru_cache

from apportion_compiler.diagnostics.diagnostic import ValueEdit
from apportion_compiler.fixes_lists import Item, appended, removed
from apportion_compiler.spans import Span, character_column, split_lines
from apportion_policy.source import SourceLocation

_Found = tuple[Span, str]


def python_edit(text: str, edit: ValueEdit) -> _Found | None:
    """Return the span to replace and its new text; None if the value is not a literal in the source."""
    source = _parsed(text)
    call = source.call_at(edit.at) if source is not None else None
    if source is None or call is None:
        return None
    holder: ast.expr = call
    for part in edit.path[:-1]:
        inner = _value(holder, part)
        if inner is None:
            return None
        holder = inner
    return _leaf_edit(source, holder, edit.path[-1], edit.value)


def _leaf_edit(source: _Source, holder: ast.expr, name: str, value: str | int | bool | None) -> _Found | None:  # noqa: FBT001
    items = _items(source, holder)
    if items is None:
        return None
    current = _value(holder, name)
    if current is None:
        # A value may be set by a `**` argument, so it cannot be assumed to be missing.
        if value is None or _has_unpacking(holder):
            return None
        key = f"{name}=" if isinstance(holder, ast.Call) else f"{_quoted(name, chr(34))}: "
        return appended(source.lines, items, source.span(holder), key + _literal(value, old=""))
    if value is None:
        position = next(i for i, item in enumerate(items) if item.value == source.span(current))
        return removed(source.lines, items, position)
    if not _is_plain(current):
        return None
    span = source.span(current)
    return span, _literal(value, old=source.segment(span))


class _Source:
    """A parsed file: its calls by span, in the columns of the syntax tree (bytes)."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self.lines = split_lines(text)
        self.calls: dict[tuple[int, int, int, int], ast.Call] = {}
        self.by_end: dict[tuple[int, int], list[ast.Call]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.end_lineno is not None and node.end_col_offset is not None:
                self.calls[node.lineno, node.col_offset, node.end_lineno, node.end_col_offset] = node
                self.by_end.setdefault((node.end_lineno, node.end_col_offset), []).append(node)

    def call_at(self, at: SourceLocation) -> ast.Call | None:
        exact = self.calls.get((at.line, at.column, at.end_line, at.end_column))
        if exact is not None:
            return exact
        # Python locates a multi-line method call at the method's name, so the end identifies it.
        ending = self.by_end.get((at.end_line, at.end_column), [])
        return (
            ending[0] if len(ending) == 1 and (ending[0].lineno, ending[0].col_offset) <= (at.line, at.column) else None
        )

    def span(self, node: ast.expr | ast.keyword) -> Span:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return Span(
            node.lineno,
            character_column(self.lines[node.lineno - 1], node.col_offset),
            node.end_lineno,
            character_column(self.lines[node.end_lineno - 1], node.end_col_offset),
        )

    def segment(self, span: Span) -> str:
        """Return the text of a span, up to the end of its first line."""
        line = self.lines[span.line - 1]
        return line[span.column : span.end_column if span.end_line == span.line else len(line)]


@lru_cache(maxsize=64)
def _parsed(text: str) -> _Source | None:
    try:
        return _Source(text, ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # The parser raises MemoryError if the text is nested too deeply.
        return None


def _value(holder: ast.expr, name: str) -> ast.expr | None:
    match holder:
        case ast.Call(keywords=keywords):
            return next((keyword.value for keyword in keywords if keyword.arg == name), None)
        case ast.Dict(keys=keys, values=values):
            named = [v for k, v in zip(keys, values, strict=True) if isinstance(k, ast.Constant) and k.value == name]
            # Python uses the last of duplicate keys.
            return named[-1] if named else None
        case ast.Tuple(elts=elements) | ast.List(elts=elements) if name.isdigit() and int(name) < len(elements):
            before = elements[: int(name) + 1]
            return None if any(isinstance(element, ast.Starred) for element in before) else elements[int(name)]
        case _:
            return None


def _items(source: _Source, holder: ast.expr) -> list[Item] | None:
    match holder:
        case ast.Call(args=args, keywords=keywords):
            spans = [(source.span(keyword), source.span(keyword.value)) for keyword in keywords]
            return sorted([Item(*pair) for pair in spans] + [Item(source.span(a), source.span(a)) for a in args])
        case ast.Dict(keys=keys, values=values):
            pairs = [
                (source.span(k if k is not None else v), source.span(v)) for k, v in zip(keys, values, strict=True)
            ]
            return [Item(Span(k.line, k.column, v.end_line, v.end_column), v) for k, v in pairs]
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return [Item(source.span(element), source.span(element)) for element in elements]
        case _:
            return None


def _has_unpacking(holder: ast.expr) -> bool:
    match holder:
        case ast.Call(keywords=keywords):
            return any(keyword.arg is None for keyword in keywords)
        case ast.Dict(keys=keys):
            return None in keys
        case _:
            return True


def _is_plain(value: ast.expr) -> bool:
    match value:
        case ast.Constant() | ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name == "UNLIMITED"
        case _:
            return False


def _literal(value: str | int | bool, *, old: str) -> str:  # noqa: FBT001 - the value is what is written.
    """Return a value as Python, in the quotes of the replaced text; quoted numbers stay quoted."""
    quote = old[0] if old[:1] in ("'", '"') and old[:3] not in ("'''", '"""') else '"'
    if isinstance(value, str):
        return _quoted(value, quote)
    if old.startswith(quote) and not isinstance(value, bool):
        return _quoted(str(value), quote)
    return repr(value)


def _quoted(text: str, quote: str) -> str:
    return quote + "".join(_escaped(character, quote) for character in text) + quote


def _escaped(character: str, quote: str) -> str:
    if character == quote:
        return f"\\{quote}"
    if character == "\\" or not character.isprintable():
        return character.encode("unicode_escape").decode("ascii")
    return character
