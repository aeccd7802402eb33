"""Edits of values in a YAML or JSON document."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import yaml

from apportion_compiler.diagnostics.diagnostic import ValueEdit
from apportion_compiler.fixes_lists import Item, appended, removed, whole_lines
from apportion_compiler.spans import Span, split_lines
from apportion_policy.documents import line_nested_too_deeply

_Found = tuple[Span, str]
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Text that every YAML parser treats as a string; other text is quoted.
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./@-]*|\d+(\.\d+)?([KMGTPE]i|[mkMGTP])|(\d+[dhms])+")
_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))


def yaml_edit(text: str, edit: ValueEdit) -> _Found | None:
    """Return the span to replace and its new text; None if the value is not a scalar in the document."""
    document = _composed(text)
    if document is None:
        return None
    holder: yaml.Node | None = document.mappings.get((edit.at.line, edit.at.column))
    for part in edit.path[:-1]:
        holder = None if holder is None else _value(holder, part)
    # An aliased value is used more than once.
    if holder is None or document.is_repeated(holder):
        return None
    is_json = edit.at.file.endswith(".json")
    name, current = edit.path[-1], _value(holder, edit.path[-1])
    if isinstance(holder, yaml.SequenceNode):
        if current is not None and edit.value is None:
            return _without_item(document.lines, holder, int(name), is_json=is_json)
        return None if current is None else _replaced(document, current, edit.value, is_json=is_json)
    if not isinstance(holder, yaml.MappingNode):
        return None
    if current is None:
        if edit.value is None:
            return None
        key = json.dumps(name) if is_json else _text(name, "")
        return _with_pair(document.lines, holder, f"{key}: {_scalar(edit.value, '', is_json=is_json)}")
    if edit.value is None:
        return None if document.is_repeated(current) else _without_pair(document.lines, holder, name, is_json=is_json)
    return _replaced(document, current, edit.value, is_json=is_json)


@dataclass(frozen=True, slots=True)
class _Document:
    lines: list[str]
    mappings: dict[tuple[int, int], yaml.MappingNode]
    uses: Counter[int]

    def is_repeated(self, node: yaml.Node) -> bool:
        return self.uses[id(node)] > 1


@lru_cache(maxsize=64)
def _composed(text: str) -> _Document | None:
    if line_nested_too_deeply(text) is not None:
        return None
    try:
        root = yaml.compose(text, Loader=_Loader)
    except (yaml.YAMLError, RecursionError):
        return None
    mappings: dict[tuple[int, int], yaml.MappingNode] = {}
    uses: Counter[int] = Counter()
    stack = [root] if root is not None else []
    while stack:
        node = stack.pop()
        uses[id(node)] += 1
        if uses[id(node)] > 1:
            continue
        if isinstance(node, yaml.MappingNode):
            mappings[node.start_mark.line + 1, node.start_mark.column] = node
            stack += [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            stack += node.value
    return _Document(split_lines(text), mappings, uses)


def _value(holder: yaml.Node, name: str) -> yaml.Node | None:
    if isinstance(holder, yaml.MappingNode):
        return next((value for key, value in holder.value if key.value == name), None)
    if isinstance(holder, yaml.SequenceNode) and name.isdigit() and int(name) < len(holder.value):
        item: yaml.Node = holder.value[int(name)]
        return item
    return None


def _holds(old: str, node: yaml.ScalarNode) -> bool:
    """Return whether the span is only the scalar: anchors and tags are also part of its span."""
    return old[:1] == node.style if node.style in ("'", '"') else old == node.value


def _replaced(
    document: _Document,
    node: yaml.Node,
    value: str | int | bool | None,  # noqa: FBT001 - the value is what is written.
    *,
    is_json: bool,
) -> _Found | None:
    span = _span(node)
    if value is None or document.is_repeated(node) or span.line != span.end_line:
        return None
    old = document.lines[span.line - 1][span.column : span.end_column]
    if not isinstance(node, yaml.ScalarNode) or not _holds(old, node):
        return None
    return span, _scalar(value, old, is_json=is_json)


def _with_pair(lines: list[str], holder: yaml.MappingNode, pair: str) -> _Found | None:
    if holder.flow_style:
        return appended(lines, _items(holder), _span(holder), pair)
    first, last = holder.value[0][0], holder.value[-1][1]
    indent = " " * first.start_mark.column
    line, column = _end(last)
    if column == 0:
        return Span(line, 0, line, 0), f"{indent}{pair}\n"
    end = len(lines[line - 1])
    return Span(line, end, line, end), f"\n{indent}{pair}"


def _without_pair(lines: list[str], holder: yaml.MappingNode, name: str, *, is_json: bool) -> _Found | None:
    position = next(i for i, (key, _) in enumerate(holder.value) if key.value == name)
    if holder.flow_style:
        return removed(lines, _items(holder), position, comma_may_end=not is_json)
    if len(holder.value) == 1:
        return None
    key, value = holder.value[position]
    start = _span(key)
    if not lines[start.line - 1][: start.column].strip():
        line, column = _end(value)
        return whole_lines(lines, start.line, line - 1 if column == 0 else line), ""
    following = _span(holder.value[position + 1][0])
    return Span(start.line, start.column, following.line, following.column), ""


def _without_item(lines: list[str], holder: yaml.SequenceNode, position: int, *, is_json: bool) -> _Found | None:
    item: yaml.Node = holder.value[position]
    if holder.flow_style:
        items = [Item(_span(each), _span(each)) for each in holder.value]
        return removed(lines, items, position, comma_may_end=not is_json)
    start = item.start_mark
    if len(holder.value) == 1 or lines[start.line][: start.column].strip() != "-":
        return None
    line, column = _end(item)
    return whole_lines(lines, start.line + 1, line - 1 if column == 0 else line), ""


def _items(holder: yaml.MappingNode) -> list[Item]:
    spans = [(_span(key), _span(value)) for key, value in holder.value]
    return [Item(Span(k.line, k.column, v.end_line, v.end_column), v) for k, v in spans]


def _end(node: yaml.Node) -> tuple[int, int]:
    """Return where a node's own text ends: the end mark of a block is at the start of the next token."""
    while isinstance(node, yaml.MappingNode | yaml.SequenceNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(node, yaml.MappingNode) else last
    return node.end_mark.line + 1, node.end_mark.column


def _span(node: yaml.Node) -> Span:
    start, end = node.start_mark, node.end_mark
    return Span(start.line + 1, start.column, end.line + 1, end.column)


def _scalar(value: str | int | bool, old: str, *, is_json: bool) -> str:  # noqa: FBT001 - the value is what is written.
    quote = old[:1] if old[:1] in ("'", '"') else ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{quote}{value}{quote}"
    return json.dumps(value, ensure_ascii=False) if is_json else _text(value, quote)


def _text(text: str, quote: str) -> str:
    if quote == "'" and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    if not quote and _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return json.dumps(text, ensure_ascii=False)
