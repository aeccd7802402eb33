"""Parser of manifests: files of several documents, lists of objects, output of `kubectl get -o json`.

Pure: the caller reads the files. The text is untrusted, so its size is limited like that of a policy document
(`apportion_policy.documents`), and aliases are counted before they are resolved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from apportion_api.json_texts import json_fault
from apportion_compiler.checks.manifests import UNREADABLE_MANIFEST
from apportion_compiler.diagnostics.diagnostic import Diagnostic
from apportion_compiler.manifests.located_manifest import LocatedManifest
from apportion_compiler.manifests.scalars import NotJson, scalar
from apportion_policy.documents import MAX_DEPTH, MAX_DOCUMENT_NODES, check_expansion, line_nested_too_deeply
from apportion_policy.errors import DocumentFault
from apportion_policy.source import SourceLocation

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE = "<<"
_TOO_DEEP = f"the document is nested deeper than {MAX_DEPTH} levels"


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """The objects of a text, and the errors. `others` are the lines of documents that are not objects."""

    objects: tuple[LocatedManifest, ...] = ()
    faults: tuple[Diagnostic, ...] = ()
    others: tuple[int, ...] = ()


def read_manifests(text: str, file: str) -> ManifestFile:
    """Return the objects of a YAML or JSON text; `file` is its name in findings."""
    objects: list[LocatedManifest] = []
    reader = _Reader(file)
    others: list[int] = []
    deep = line_nested_too_deeply(text)
    if deep is not None:
        return ManifestFile(faults=(unreadable(file, _TOO_DEEP, deep),))
    try:
        for node in yaml.compose_all(text, Loader=_Loader):
            check_expansion(node, Path(file))
            reader.n_values += _size(node)
            if reader.n_values > MAX_DOCUMENT_NODES:
                reader.faults.append(unreadable(file, f"the file expands to more than {MAX_DOCUMENT_NODES} values"))
                break
            value = reader.value(node)
            if value is None:
                continue
            placed = list(_objects(LocatedManifest(value, node, file))) if isinstance(value, dict) else []
            objects += placed
            others += () if placed else (node.start_mark.line + 1,)
    except DocumentFault as refused:
        reader.faults += (unreadable(file, f.message, f.line or 0, f.column or 0) for f in refused.faults)
    except yaml.YAMLError as malformed:
        fault = json_fault(text)
        if fault is not None:
            reader.faults.append(unreadable(file, fault.message, fault.line, fault.column - 1, fault.hint))
            return ManifestFile(tuple(objects), tuple(reader.faults), tuple(others))
        mark = getattr(malformed, "problem_mark", None)
        problem = str(getattr(malformed, "problem", None) or malformed).splitlines()[0]
        # An unexpected end is reported on the last line, not on the one after it.
        line = min(mark.line, text.count("\n")) + 1 if mark else 0
        reader.faults.append(unreadable(file, problem, line, mark.column if mark else 0))
    return ManifestFile(tuple(objects), tuple(reader.faults), tuple(others))


_RENDER = "pass YAML or JSON that kubectl accepts; render templates first"


def unreadable(file: str, message: str, line: int = 0, column: int = 0, hint: str = _RENDER) -> Diagnostic:
    """Return a finding about a text that cannot be parsed, at a line if known."""
    return Diagnostic(
        UNREADABLE_MANIFEST, f"file {Path(file).name}", message, SourceLocation(file, line, column),
        hint=hint,
    )  # fmt: skip


def _objects(found: LocatedManifest) -> Iterator[LocatedManifest]:
    """Yield the object, or those of a list; nothing for any other mapping."""
    manifest = found.manifest
    kind, version = manifest.get("kind"), manifest.get("apiVersion")
    items = manifest.get("items")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
        node = next(v for k, v in found.node.value if k.value == "items")
        nodes = node.value if isinstance(node, yaml.SequenceNode) else []
        for item, of_item in zip(items, nodes, strict=False):
            if isinstance(item, dict):
                yield from _objects(LocatedManifest(_with_kind(item, kind, version), of_item, found.file))
    elif isinstance(kind, str) and isinstance(version, str):
        yield found


def _with_kind(item: dict[str, Any], kind: str, version: object) -> dict[str, Any]:
    """Return an item of a typed list, which may omit its kind."""
    if "kind" in item or kind == "List":
        return item
    return {"apiVersion": version, "kind": kind.removesuffix("List"), **item}


@dataclass(slots=True)
class _Reader:
    """Converts nodes to values, each node once, and records errors."""

    file: str
    faults: list[Diagnostic] = field(default_factory=list[Diagnostic])
    n_values: int = 0
    _made: dict[int, Any] = field(default_factory=dict[int, Any])

    def value(self, node: yaml.Node) -> Any:
        """Return the value of a node whose size has been checked."""
        if id(node) in self._made:
            return self._made[id(node)]
        made: Any
        if isinstance(node, yaml.MappingNode):
            made = self._mapping(node)
        elif isinstance(node, yaml.SequenceNode):
            made = [self.value(item) for item in node.value]
        else:
            assert isinstance(node, yaml.ScalarNode)
            try:
                made = scalar(node)
            except NotJson as refused:
                self._fault(str(refused), node)
                made = None
        self._made[id(node)] = made
        return made

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Any]:
        made: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._fault("a mapping key is not a string", key)
            elif key.value == _MERGE and not key.style:
                for part in value.value if isinstance(value, yaml.SequenceNode) else (value,):
                    if isinstance(part, yaml.MappingNode):
                        merged = {**self.value(part), **merged}
            else:
                if key.value in made:
                    self._fault(
                        f"the key `{key.value[:80]}` occurs twice in one mapping; only the last value would apply", key
                    )
                made[key.value] = self.value(value)
        return {**merged, **made}

    def _fault(self, message: str, node: yaml.Node, hint: str = _RENDER) -> None:
        mark = node.start_mark
        self.faults.append(unreadable(self.file, message, mark.line + 1, mark.column, hint))


def _size(root: yaml.Node) -> int:
    """Return the number of values that a document expands to; `check_expansion` has limited it."""
    sizes: dict[int, int] = {}
    stack: list[tuple[yaml.Node, bool]] = [(root, False)]
    while stack:
        node, done = stack.pop()
        children: list[yaml.Node] = (
            [part for pair in node.value for part in pair]
            if isinstance(node, yaml.MappingNode)
            else node.value
            if isinstance(node, yaml.SequenceNode)
            else []
        )
        if done:
            sizes[id(node)] = 1 + sum(sizes[id(child)] for child in children)
        elif id(node) not in sizes:
            stack.append((node, True))
            stack.extend((child, False) for child in children)
    return sizes[id(root)]
