"""Strict decoding of `queues.yaml` to a mapping of known keys, with the errors of YuniKorn's decoder.

YuniKorn reads the first document and rejects unknown keys, duplicate keys and values of the wrong type, reporting each
of them (go.yaml.in/yaml v3.0.4 with KnownFields; decode.go).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import yaml
from yaml.composer import ComposerError
from yaml.scanner import ScannerError

from apportion_api.yunikorn.configuration import Fields
from apportion_api.yunikorn.schema import SCHEDULER_CONFIG, ListOf, MapOf, Scalar, Shape, Struct
from apportion_compiler.engines.yunikorn.rules.errors import ConfigRefusedError
from apportion_compiler.engines.yunikorn.rules.scalars import (
    MERGE,
    NULL,
    STRING,
    Value,
    as_count,
    as_flag,
    as_number,
    as_text,
    resolve,
    short_tag,
)
from apportion_policy.documents import MAX_DEPTH, line_nested_too_deeply

if TYPE_CHECKING:
    from yaml import BaseLoader as _Base
else:
    # libyaml, from which YuniKorn's parser was ported, has the same error messages. Its availability is only known at run
    # time.
    _Base = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class _Loader(_Base):
    """Leaves a plain scalar without a tag, so that explicit tags can be distinguished."""

    def resolve(self, kind: type[yaml.Node], value: object, implicit: object) -> str:
        """Return the tag of a node without one."""
        if kind is yaml.ScalarNode:
            return "" if isinstance(implicit, tuple) and implicit[0] else STRING
        return "!!seq" if kind is yaml.SequenceNode else "!!map"


_MAX_VISITS = 4_000_000
"""Maximum of visited nodes and followed aliases: more is an attack, which YuniKorn also rejects, based on a ratio."""


def decode(text: str) -> Fields:
    """Return the configuration; empty text is an empty configuration. Raises `ConfigRefusedError`."""
    node = _composed(text)
    if node is None or _is_null(node):
        return {}
    decoder = _Decoder()
    found = decoder.value(node, SCHEDULER_CONFIG)
    if decoder.faults:
        raise ConfigRefusedError("yaml: unmarshal errors:\n  " + "\n  ".join(decoder.faults))
    return cast("Fields", {} if found is _NOTHING else found)


def _composed(text: str) -> yaml.Node | None:
    if line_nested_too_deeply(text) is not None:
        raise ConfigRefusedError(f"yaml: nested deeper than the limit of {MAX_DEPTH} levels")
    try:
        loader = _Loader(text.encode("utf-8", "surrogatepass"))
        try:
            return loader.get_node() if loader.check_node() else None
        finally:
            loader.dispose()
    except ComposerError as fault:
        raise ConfigRefusedError(f"yaml: {_unknown_anchor(text, fault)}") from None
    except yaml.MarkedYAMLError as fault:
        raise ConfigRefusedError(f"yaml: {_where(fault)}{fault.problem}") from None
    except (yaml.YAMLError, UnicodeError) as fault:
        raise ConfigRefusedError(f"yaml: {' '.join(str(fault).split())}") from None


def _unknown_anchor(text: str, fault: yaml.MarkedYAMLError) -> str:
    mark = fault.problem_mark
    lines = text.splitlines()
    written = lines[mark.line][mark.column :] if mark is not None and mark.line < len(lines) else ""
    alias = re.match(r"\*([\w-]+)", written)
    return str(fault.problem) if alias is None else f"unknown anchor '{alias[1]}' referenced"


def _where(fault: yaml.MarkedYAMLError) -> str:
    """Return the line number of Go's parser: only the scanner counts lines from 1."""
    for mark in (fault.context_mark, fault.problem_mark):
        if mark is not None and mark.line:
            return f"line {mark.line + (1 if isinstance(fault, ScannerError) else 0)}: "
    return ""


class _Unchanged:
    """A value that the decoder leaves unchanged: null, or a different type."""


_NOTHING = _Unchanged()


def _tag(node: yaml.Node) -> str:
    """Return the tag that Go's parser assigns to a node."""
    written = short_tag(node.tag or "")
    if written:
        return written
    return MERGE if node.value == "<<" else resolve("", node.value)[0]


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and _tag(node) == NULL


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1


class _Decoder:
    """The faults found so far, and the number of visited nodes."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self._visits = 0
        self._open: set[int] = set()

    def value(self, node: yaml.Node, shape: Shape) -> object:
        """Return a node's value with a type, or `_NOTHING`."""
        self._visits += 1
        if self._visits > _MAX_VISITS:
            raise ConfigRefusedError("yaml: document contains excessive aliasing")
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, shape)
        if id(node) in self._open:
            raise ConfigRefusedError("yaml: anchor value contains itself")
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return self._sequence(node, shape)
            return self._mapping(cast("yaml.MappingNode", node), shape)
        finally:
            self._open.discard(id(node))

    def _scalar(self, node: yaml.ScalarNode, shape: Shape) -> object:
        tag = _tag(node)
        value: Value = node.value
        if tag != STRING:
            tag, value = resolve(tag, node.value)
        if value is None:
            return _NOTHING
        found: Value = None
        if isinstance(shape, Scalar):
            match shape.type:
                case "string":
                    found = as_text(tag, node.value, value)
                case "bool":
                    found = as_flag(value)
                case "uint64":
                    found = as_count(value)
                case "float64":
                    found = as_number(value)
        return self._unfit(node, tag, shape) if found is None else found

    def _unfit(self, node: yaml.Node, tag: str, shape: Shape) -> _Unchanged:
        shown = ""
        if isinstance(node, yaml.ScalarNode):
            # Go counts and truncates bytes.
            raw = node.value.encode("utf-8", "surrogatepass")
            cut = f"{raw[:7].decode('utf-8', 'replace')}..." if len(raw) > 10 else node.value
            shown = f" `{cut}`"
        self.faults.append(f"line {_line(node)}: cannot unmarshal {tag}{shown} into {shape.type}")
        return _NOTHING

    def _sequence(self, node: yaml.SequenceNode, shape: Shape) -> object:
        if not isinstance(shape, ListOf):
            return self._unfit(node, _tag(node), shape)
        item = shape.item()
        found = (self.value(child, item) for child in node.value)
        return [value for value in found if value is not _NOTHING]

    def _mapping(self, node: yaml.MappingNode, shape: Shape) -> object:
        repeated = list(_repeated(node))
        if repeated:
            self.faults.extend(repeated)
            return _NOTHING
        if not isinstance(shape, Struct | MapOf):
            return self._unfit(node, _tag(node), shape)
        found: dict[str, object] = {}
        self._into(node, shape, found, merged=None)
        return found

    def _into(
        self, node: yaml.MappingNode, shape: Struct | MapOf, found: dict[str, object], *, merged: set[str] | None
    ) -> None:
        """Set a mapping's keys; with `merged`, only those that are not set yet."""
        merge: yaml.Node | None = None
        done: set[str] = set()
        for key, child in node.value:
            if _tag(key) == MERGE and isinstance(key, yaml.ScalarNode):
                merge = child
                continue
            name = self.value(key, Scalar("string"))
            if not isinstance(name, str):
                continue
            if merged is not None:
                if name in merged:
                    continue
                merged.add(name)
            if isinstance(shape, MapOf):
                value = self.value(child, shape.value)
                if value is not _NOTHING:
                    found[name] = value
                elif _is_null(child):
                    found.setdefault(name, "" if shape.value.type == "string" else 0.0)
            elif name not in shape.fields:
                self.faults.append(f"line {_line(key)}: field {name} not found in type {shape.type}")
            elif name in done:
                self.faults.append(f"line {_line(key)}: field {name} already set in type {shape.type}")
            else:
                done.add(name)
                value = self.value(child, shape.fields[name]())
                if value is not _NOTHING:
                    found[name] = value
                elif _is_null(child) and not isinstance(shape.fields[name](), Scalar | Struct):
                    found.pop(name, None)
        if merge is not None:
            names = {str(key.value) for key, _ in node.value if isinstance(key, yaml.ScalarNode)}
            self._merge(merge, shape, found, names if merged is None else merged)

    def _merge(self, merge: yaml.Node, shape: Struct | MapOf, found: dict[str, object], merged: set[str]) -> None:
        sources = merge.value if isinstance(merge, yaml.SequenceNode) else [merge]
        for source in sources:
            if not isinstance(source, yaml.MappingNode):
                raise ConfigRefusedError("yaml: map merge requires map or sequence of maps as the value")
            if id(source) in self._open:
                raise ConfigRefusedError("yaml: anchor value contains itself")
            self._open.add(id(source))
            try:
                repeated = list(_repeated(source))
                self.faults.extend(repeated)
                if not repeated:
                    self._into(source, shape, found, merged=merged)
            finally:
                self._open.discard(id(source))


def _repeated(node: yaml.MappingNode) -> Iterator[str]:
    """Yield the duplicate keys of a mapping."""
    places: dict[str, list[int]] = {}
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            places.setdefault(key.value, []).append(_line(key))
    for name, lines in places.items():
        for number, first in enumerate(lines):
            for line in lines[number + 1 :]:
                quoted = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
                yield f"line {line}: mapping key {quoted} already defined at line {first}"
