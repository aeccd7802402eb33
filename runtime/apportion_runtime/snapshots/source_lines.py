"""Lines of findings. Nothing is kept while reading: the text is parsed again, and only if there are findings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import yaml

from apportion_api.json_texts import json_spans
from apportion_runtime.snapshots.document_loader import Loader, Source
from apportion_runtime.snapshots.faults import Fault, ObjectLocation, Path

_MOST_CHARACTERS = 64 * 1024 * 1024
"""For larger texts, only the file is named."""


def located(faults: Sequence[Fault], sources: Sequence[Source]) -> tuple[Fault, ...]:
    """Return faults with file and line, in their order, each once."""
    lines = Lines(sources)
    found: dict[Fault, None] = {}
    for fault in faults:
        if fault.place is not None:
            fault = replace(  # noqa: PLW2901 - the same fault, with its line.
                fault, file=sources[fault.place.source].name, line=lines.of(fault.place), place=None
            )
        found[fault] = None
    return tuple(sorted(found, key=lambda f: (f.file, f.line, f.kind, f.address, f.message)))


class Lines:
    """The lines of values in some texts."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._trees: dict[int, list[Any] | None] = {}

    def of(self, place: ObjectLocation) -> int:
        """Return the line of a value, of the nearest one around it, or 0."""
        if place.source not in self._trees:
            self._trees[place.source] = _roots(self._sources[place.source].text)
        roots = self._trees[place.source]
        if roots is None or place.document >= len(roots):
            return 0
        root = roots[place.document]
        path = (*place.item, *place.path)
        if isinstance(root, int):
            return _json_line(self._sources[place.source].text, root, path)
        return 0 if root is None else _yaml_line(root, path)


def line_of(text: str, path: Path) -> int | None:
    """Return the line of a value in the first document of a text, or of the nearest one around it.

    None if no part of the path exists.
    """
    root = next(iter(_roots(text) or ()), None)
    if not path or root is None:
        return None
    if isinstance(root, int):
        return None if _step(text, root, path[0]) is None else _json_line(text, root, path)
    has_first = isinstance(root, yaml.MappingNode) and any(key.value == path[0] for key, _ in root.value)
    return _yaml_line(root, path) if has_first else None


def _roots(text: str) -> list[Any] | None:
    """Return the offset of each JSON document, or the node of each YAML document."""
    if len(text) > _MOST_CHARACTERS:
        return None
    if text.lstrip()[:1] in ("{", "["):
        try:
            return [start for start, _, _ in json_spans(text)]
        except (ValueError, RecursionError):
            pass
    loader = Loader(text)
    roots: list[Any] = []
    try:
        while loader.check_node():
            roots.append(loader.get_node())
    except yaml.YAMLError:
        # The reader of the text may be more lenient than this loader; documents before the error have lines.
        return roots
    finally:
        loader.dispose()
    return roots


def _yaml_line(node: Any, path: Path) -> int:
    line = node.start_mark.line
    for step in path:
        if isinstance(node, yaml.MappingNode):
            pairs = [(key, value) for key, value in node.value if key.value == step]
            if not pairs:
                break
            line, node = pairs[-1][0].start_mark.line, pairs[-1][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line
        else:
            break
    return int(line) + 1


def _json_line(text: str, start: int, path: Path) -> int:
    at = start
    for step in path:
        below = _step(text, at, step)
        if below is None:
            break
        at = below
    return text.count("\n", 0, at) + 1


def _step(text: str, start: int, step: str | int) -> int | None:
    """Return the offset of a value in the array or object that begins at `start`; None if there is none."""
    decoder = json.JSONDecoder()
    at = _blank(text, start + 1)
    number = 0
    while text[at] not in "]}":
        key: object = number
        if text[start] == "{":
            key, at = decoder.raw_decode(text, at)
            at = _blank(text, _blank(text, at) + 1)
        if key == step:
            return at
        _, at = decoder.raw_decode(text, at)
        at = _blank(text, at)
        if text[at] == ",":
            at = _blank(text, at + 1)
        number += 1
    return None


def _blank(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at
