"""Policies as YAML or JSON documents: the same model, with locations in the document.

Documents are untrusted: their size is limited, the size of expanded aliases is computed before they are expanded, and
only the core types of YAML 1.2 are recognised, so `on`, `010` and `12:30` remain text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from apportion_policy.declaration import PlacedDict, reading_document
from apportion_policy.errors import DocumentFault
from apportion_policy.evaluation.fault import Fault, FaultKind
from apportion_policy.evaluation.sanitized_text import is_utf8, plain_text
from apportion_policy.policy import Policy
from apportion_policy.refused_values import RefusedValue, refused_values
from apportion_policy.source import SourceLocation

MAX_DOCUMENT_BYTES = 32 * 1024 * 1024
MAX_DOCUMENT_NODES = 2_000_000
MAX_DEPTH = 200
_LISTS = ("queues", "environments", "priority_classes", "node_pools", "provisioning_plans", "waivers")
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Path_ = tuple[str | int, ...]


def load_document(path: Path) -> Policy:
    """Return the policy of a YAML or JSON file, with the files that it includes.

    Raises:
        DocumentFault: With every fault, each at its line.
    """
    return load_documents(path)[0]


def load_documents(path: Path) -> tuple[Policy, tuple[str, ...]]:
    """Return the policy and the files that were read, starting with `path`. Raises `DocumentFault`."""
    body, node = _read(path)
    nodes: dict[str, list[tuple[yaml.Node, Path]]] = {}
    _note_items(node, path, nodes)
    files = [str(path)]
    include = body.pop("include", [])
    for pattern in include if isinstance(include, list) else [include]:
        if Path(str(pattern)).is_absolute() or ".." in Path(str(pattern)).parts:
            message = f"include: {pattern} points outside the document's folder"
            raise _fault("unreadable-input", message, path, node, ("include",))
        matches = sorted(path.parent.glob(str(pattern)))
        if not matches:
            raise _fault("unreadable-input", f"include: no file matches {pattern}", path, node, ("include",))
        for match in matches:
            if not is_utf8(str(match)) or not match.is_file():
                message = f"include: {plain_text(match.name)} must be a regular file with a UTF-8 name"
                raise _fault("unreadable-input", message, path, node, ("include",))
            included, included_node = _read(match)
            files.append(str(match))
            unknown = [key for key in included if key not in _LISTS]
            if unknown:
                message = f"an included document may contain only lists ({', '.join(_LISTS)}), not `{unknown[0]}`"
                raise _fault("malformed-document", message, match, included_node, (unknown[0],))
            _note_items(included_node, match, nodes)
            for key, items in included.items():
                body[key] = [*body.get(key, []), *items]
    try:
        with reading_document():
            return Policy.model_validate(body), tuple(files)
    except ValidationError as refused:
        faults = tuple(_validation_fault(wrong, path, node, nodes) for wrong in refused_values(refused, Policy, body))
        raise DocumentFault(faults) from refused
    except RecursionError as deep:
        raise _fault("malformed-document", "queues are nested too deeply", path, node, ()) from deep


def _read(path: Path) -> tuple[PlacedDict, yaml.Node]:
    size = path.stat().st_size
    if size > MAX_DOCUMENT_BYTES:
        message = f"the document is {size} bytes long; the limit is {MAX_DOCUMENT_BYTES}"
        raise DocumentFault(
            (
                Fault(
                    "document-too-large",
                    message,
                    str(path),
                    None,
                    None,
                    "split it into several files, and read them with `include`",
                    (),
                ),
            )
        )
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as undecodable:
        bad_line = path.read_bytes()[: undecodable.start].count(b"\n") + 1
        message = f"the byte at offset {undecodable.start} is not valid UTF-8"
        raise DocumentFault(
            (Fault("invalid-encoding", message, str(path), bad_line, None, "save it as UTF-8", ()),)
        ) from None
    deep = line_nested_too_deeply(text)
    if deep is not None:
        message = f"the document is nested deeper than {MAX_DEPTH} levels"
        raise DocumentFault((Fault("malformed-document", message, str(path), deep, None, None, ()),))
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as malformed:
        mark = getattr(malformed, "problem_mark", None)
        problem = str(getattr(malformed, "problem", None) or malformed).splitlines()[0]
        if problem.startswith("but "):
            # The start of the sentence is in the error's context: "expected a single document in the stream, but …".
            problem = f"{getattr(malformed, 'context', None) or 'it is malformed'}, {problem}"
        line: int | None = mark.line + 1 if mark else None
        column: int | None = mark.column if mark else None
        raise DocumentFault((Fault("malformed-document", problem, str(path), line, column, None, ()),)) from None
    if not isinstance(node, yaml.MappingNode):
        message = "a policy document must be a mapping with `organisation`, `queues`, …"
        raise DocumentFault((Fault("malformed-document", message, str(path), 1, None, None, ()),))
    check_expansion(node, path)
    body = _value(node, path, {})
    assert isinstance(body, PlacedDict)
    for header, wanted in (("apiVersion", "apportion.dev/v1"), ("kind", "Policy")):
        if body.pop(header, wanted) != wanted:
            raise _fault("malformed-document", f"a policy's `{header}` must be {wanted}", path, node, (header,))
    body.pop("$schema", None)
    return body, node


def line_nested_too_deeply(text: str) -> int | None:
    """Return the first line of a YAML text that is nested deeper than `MAX_DEPTH`; None if there is none.

    libyaml composes recursively without a limit, until the stack overflows and the process dies.
    """
    depth = 0
    try:
        for event in yaml.parse(text.encode("utf-8", "surrogatepass"), Loader=_Loader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    mark = event.start_mark
                    return mark.line + 1 if mark is not None else 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.YAMLError:
        # Up to here, the nesting is valid, and nothing reads further.
        return None
    return None


def check_expansion(root: yaml.Node, path: Path) -> None:
    """Reject a document whose aliases expand to too many values, without expanding them.

    Raises:
        DocumentFault: If it has too many values, is nested too deeply, or contains itself.
    """
    sizes: dict[int, int] = {}
    stack: list[tuple[yaml.Node, bool, int]] = [(root, False, 0)]
    open_nodes: set[int] = set()
    while stack:
        node, done, depth = stack.pop()
        children: Sequence[yaml.Node] = (
            [part for pair in node.value for part in pair]
            if isinstance(node, yaml.MappingNode)
            else node.value
            if isinstance(node, yaml.SequenceNode)
            else ()
        )
        if done:
            open_nodes.discard(id(node))
            sizes[id(node)] = 1 + sum(sizes[id(child)] for child in children)
            if sizes[id(node)] > MAX_DOCUMENT_NODES:
                message = f"the document expands to more than {MAX_DOCUMENT_NODES} values"
                raise _fault("document-too-large", message, path, node, ())
        elif id(node) not in sizes:
            if depth > MAX_DEPTH:
                raise _fault(
                    "malformed-document", f"the document is nested deeper than {MAX_DEPTH} levels", path, node, ()
                )
            if id(node) in open_nodes:
                raise _fault("malformed-document", "an alias refers to a node that contains it", path, node, ())
            if children:
                open_nodes.add(id(node))
            stack.append((node, True, depth))
            stack.extend((child, False, depth + 1) for child in children)


def _value(node: yaml.Node, path: Path, made: dict[int, Any]) -> Any:
    known = made.get(id(node))
    if known is not None:
        return known
    value: Any
    if isinstance(node, yaml.MappingNode):
        value = PlacedDict()
        value.at = _location(node, path)
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is None:
                raise _fault("malformed-document", "a key is not a string", path, key_node, ())
            if key in value:
                raise _fault("malformed-document", f"the key `{key}` is duplicated in a mapping", path, key_node, ())
            value[key] = _value(value_node, path, made)
    elif isinstance(node, yaml.SequenceNode):
        value = [_value(item, path, made) for item in node.value]
    else:
        assert isinstance(node, yaml.ScalarNode)
        value = _scalar(node)
    made[id(node)] = value
    return value


def _scalar(node: yaml.ScalarNode) -> Any:
    text: str = node.value
    if node.style or node.tag == "tag:yaml.org,2002:str":
        return text
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return text[0] in "tT"
    if _INT.fullmatch(text) and len(text) < 64:
        return int(text)
    if _FLOAT.fullmatch(text) and len(text) < 64:
        return Decimal(text)
    return text


def _location(node: yaml.Node, path: Path) -> SourceLocation:
    start, end = node.start_mark, node.end_mark
    return SourceLocation(str(path), start.line + 1, start.column, end.line + 1, end.column)


def _note_items(node: yaml.Node, path: Path, nodes: dict[str, list[tuple[yaml.Node, Path]]]) -> None:
    for key in _LISTS:
        items = _child(node, key)
        if isinstance(items, yaml.SequenceNode):
            nodes.setdefault(key, []).extend((item, path) for item in items.value)


def _validation_fault(
    wrong: RefusedValue, path: Path, root: yaml.Node, nodes: dict[str, list[tuple[yaml.Node, Path]]]
) -> Fault:
    loc = wrong.error_path
    node, file, rest = root, path, loc
    if len(loc) > 1 and loc[0] in nodes and isinstance(loc[1], int) and loc[1] < len(nodes[str(loc[0])]):
        (node, file), rest = nodes[str(loc[0])][loc[1]], loc[2:]
    found = _follow(node, rest)
    shown = ".".join(str(part) for part in wrong.path)
    return Fault(
        "invalid-value", f"{shown}: {wrong.message}" if shown else wrong.message, str(file), found.start_mark.line + 1,
        found.start_mark.column, None, (),
    )  # fmt: skip


def _follow(node: yaml.Node, loc: Path_) -> yaml.Node:
    """Return the node at a path, or its nearest existing ancestor: pydantic's paths also contain union members."""
    for part in loc:
        child = _child(node, part)
        if child is not None:
            node = child
    return node


def _child(node: yaml.Node, part: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == part), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        item: yaml.Node = node.value[part]
        return item
    return None


def _fault(kind: FaultKind, message: str, path: Path, node: yaml.Node, loc: Path_) -> DocumentFault:
    mark = _follow(node, loc).start_mark
    return DocumentFault((Fault(kind, message, str(path), mark.line + 1, mark.column, None, ()),))
