"""A manifest with its source text: every field has its line and columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import yaml

from apportion_compiler.plain_objects import described
from apportion_policy.documents import line_nested_too_deeply
from apportion_policy.source import SourceLocation

Manifest = Mapping[str, object]
_TOKEN = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
_MERGE = "<<"
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class LocatedManifest:
    """A manifest and its location."""

    manifest: Manifest
    node: yaml.Node
    file: str

    @property
    def address(self) -> str:
        """The address in findings."""
        return described(self.manifest)

    def at(self, field: str) -> SourceLocation:
        """Return the location of a field; if it is missing, that of its nearest existing parent.

        Args:
            field: A path, such as `spec.resourceGroups[0].flavors[1].name` or `metadata.labels[kai.scheduler/queue]`.
        """
        tokens = [bracketed.strip("'\"") or plain for bracketed, plain in _TOKEN.findall(field)]
        found = _follow(self.node, tokens)
        if found is None:
            found = _follow(self.node, ["kind"]) or _LocatedField(None, self.node)
        return found.location(self.file)


@dataclass(frozen=True, slots=True)
class _LocatedField:
    """A field's key, if it has one, and its value; `line` is added for fields of embedded text."""

    key: yaml.Node | None
    value: yaml.Node
    line: int = 0

    def location(self, file: str) -> SourceLocation:
        start = (self.key or self.value).start_mark
        end = self.value.end_mark
        if isinstance(self.value, yaml.CollectionNode) or end.line != start.line:
            end = self.key.end_mark if self.key is not None else start
        if self.line:
            return SourceLocation(file, start.line + 1 + self.line, 0)
        if (end.line, end.column) == (start.line, start.column):
            return SourceLocation(file, start.line + 1, start.column)
        return SourceLocation(file, start.line + 1, start.column, end.line + 1, end.column)


def _follow(root: yaml.Node, tokens: list[str]) -> _LocatedField | None:
    """Return the deepest existing field of a path."""
    found, position, node, line = None, 0, root, 0
    while position < len(tokens):
        if isinstance(node, yaml.ScalarNode) and node.style == "|":
            # A configuration embedded in a ConfigMap: its lines start below the key.
            inner = _composed(node.value)
            if inner is None:
                break
            node, line = inner, line + node.start_mark.line + 1
        step = _step(node, tokens, position)
        if step is None:
            break
        position, key, node = step
        found = _LocatedField(key, node, line)
    return found


def _step(node: yaml.Node, tokens: list[str], position: int) -> tuple[int, yaml.Node | None, yaml.Node] | None:
    if isinstance(node, yaml.SequenceNode):
        token = tokens[position]
        number = int(token) if token.isdecimal() and len(token) < 10 else len(node.value)
        return (position + 1, None, node.value[number]) if number < len(node.value) else None
    if isinstance(node, yaml.MappingNode):
        # Keys may contain dots, such as those of labels and extended resources.
        for end in range(position + 1, len(tokens) + 1):
            wanted = ".".join(tokens[position:end])
            for key, value in _entries(node):
                if isinstance(key, yaml.ScalarNode) and key.value == wanted:
                    return end, key, value
    return None


def _entries(node: yaml.MappingNode, depth: int = 0) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    """Yield the entries of a mapping, then those of merged mappings."""
    yield from node.value
    for key, value in node.value if depth < 8 else ():
        if isinstance(key, yaml.ScalarNode) and key.value == _MERGE:
            for merged in value.value if isinstance(value, yaml.SequenceNode) else (value,):
                if isinstance(merged, yaml.MappingNode):
                    yield from _entries(merged, depth + 1)


def _composed(text: str) -> yaml.Node | None:
    if line_nested_too_deeply(text) is not None:
        return None
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError:
        return None
    return node
