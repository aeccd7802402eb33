"""Plain data as YAML: the bytes of PyYAML's `CSafeDumper` without anchors, in a sixth of the time.

A dumper builds a node for each value, searches for shared values to anchor, and matches each scalar against every
implicit resolver. Manifests need no anchors, because objects are applied one by one, and they repeat the same few
scalars. Therefore, PyYAML's emitter writes each scalar once, and lines are assembled from these texts. Documents of
which one has a scalar of several lines, or a line that the emitter might fold, are emitted by PyYAML as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import yaml
from yaml.representer import SafeRepresenter
from yaml.resolver import Resolver

_Emitter: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_MAX_KNOWN = 65_536
_WIDTH = 120
_MAX_LINE = _WIDTH + len("\n")

_MAP = yaml.MappingStartEvent(None, "tag:yaml.org,2002:map", implicit=True, flow_style=False)
_MAP_END = yaml.MappingEndEvent()
_SEQ = yaml.SequenceStartEvent(None, "tag:yaml.org,2002:seq", implicit=True, flow_style=False)
_SEQ_END = yaml.SequenceEndEvent()
_DOCUMENT = yaml.DocumentStartEvent(explicit=True)
_DOCUMENT_END = yaml.DocumentEndEvent(explicit=False)
_BEFORE_SCALAR = (yaml.StreamStartEvent(), yaml.DocumentStartEvent(explicit=False))
_AFTER_SCALAR = (_DOCUMENT_END, yaml.StreamEndEvent())
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,99}")
"""Strings without an indicator of YAML, and short enough for a key: not quoted unless they resolve to another type."""
_STR = "tag:yaml.org,2002:str"
_resolver: Any = Resolver()
_scalars: dict[tuple[type, Any], yaml.ScalarEvent] = {}
_texts: dict[tuple[type, Any], str] = {}
_key_texts: dict[tuple[type, Any], str] = {}


_Write = Callable[[list[str], Any, str, str], None]


class _Place(NamedTuple):
    """A collection of one scalar: the events and the text around it."""

    before: tuple[yaml.Event, ...]
    after: tuple[yaml.Event, ...]
    text: tuple[str, str]


_IN_SEQUENCE = _Place((_SEQ,), (_SEQ_END,), ("- ", "\n"))
_AS_KEY = _Place((_MAP,), (yaml.ScalarEvent(None, None, (True, False), "null"), _MAP_END), ("", ": null\n"))


class _NeedsEmitter(Exception):
    """A scalar whose text depends on its position."""


def dump_all(documents: Iterable[object]) -> str:
    """Return YAML documents, each with its `---`, keys in their own order.

    Raises:
        yaml.representer.RepresenterError: If a value is not plain data.
    """
    documents = tuple(documents)
    parts: list[str] = []
    try:
        for document in documents:
            parts.append("---\n")
            _write_root(parts, document)
    except _NeedsEmitter:
        return _emitted(documents)
    return "".join(parts)


def _write_root(parts: list[str], document: Any) -> None:
    if not document:
        raise _NeedsEmitter
    if isinstance(document, dict):
        _write_mapping(parts, document, "", "")
    elif type(document) in (list, tuple):
        _write_sequence(parts, document, "", "")
    else:
        raise _NeedsEmitter


def _write_mapping(parts: list[str], mapping: Mapping[Any, Any], start: str, indent: str) -> None:
    """Append the lines of a mapping that is not empty: the first line begins with `start`, the others with `indent`."""
    for key, item in mapping.items():
        # Most keys and values have known texts: without calls, this function takes half the time.
        head = f"{start}{_key_texts.get((str, key)) or _key_text(key)}:"
        kind = type(item)
        nested: _Write | None = None
        inner = indent
        if kind is str:
            line = f"{head} {_texts.get((str, item)) or _text(item)}\n"
        elif kind is dict or isinstance(item, dict):
            line, nested, inner = (f"{head}\n", _write_mapping, f"{indent}  ") if item else (f"{head} {{}}\n", None, "")
        elif kind is list or kind is tuple:
            # YAML does not require the items of a mapping's sequence to be indented, and PyYAML does not.
            line, nested, inner = (f"{head}\n", _write_sequence, indent) if item else (f"{head} []\n", None, "")
        else:
            line = f"{head} {_text(item)}\n"
        if len(line) > _MAX_LINE:
            raise _NeedsEmitter
        parts.append(line)
        if nested is not None:
            nested(parts, item, inner, inner)
        start = indent


def _write_sequence(parts: list[str], items: Iterable[Any], start: str, indent: str) -> None:
    """Append the lines of a sequence that is not empty: the first line begins with `start`, the others with `indent`."""
    for item in items:
        kind = type(item)
        if kind is dict or isinstance(item, dict):
            if item:
                _write_mapping(parts, item, f"{start}- ", f"{indent}  ")
            else:
                parts.append(_line(f"{start}- {{}}"))
        elif kind is list or kind is tuple:
            if item:
                _write_sequence(parts, item, f"{start}- ", f"{indent}  ")
            else:
                parts.append(_line(f"{start}- []"))
        else:
            parts.append(_line(f"{start}- {_text(item)}"))
        start = indent


def _line(text: str) -> str:
    if len(text) > _WIDTH:
        raise _NeedsEmitter
    return f"{text}\n"


def _text(value: Any) -> str:
    key = _scalar_key(value)
    known = _texts.get(key)
    return known if known is not None else _new_text(key, value, _IN_SEQUENCE, _texts)


def _key_text(value: Any) -> str:
    key = _scalar_key(value)
    known = _key_texts.get(key)
    return known if known is not None else _new_text(key, value, _AS_KEY, _key_texts)


def _new_text(key: tuple[type, Any], value: Any, place: _Place, known: dict[tuple[type, Any], str]) -> str:
    """Return the text of a scalar on one line. Raises `_NeedsEmitter` if it has several."""
    text: str
    if key[0] is str and _PLAIN.fullmatch(value) and _resolver.resolve(yaml.ScalarNode, value, (True, False)) == _STR:
        text = value
    else:
        before, after = place.text
        text = _emit((*_BEFORE_SCALAR, *place.before, _event(key, value), *place.after, *_AFTER_SCALAR))
        if not (text.startswith(before) and text.endswith(after)) or len(text.splitlines()) > 1:
            raise _NeedsEmitter
        text = text[len(before) : -len(after)]
    if len(known) < _MAX_KNOWN:
        known[key] = text
    return text


def _scalar_key(value: Any) -> tuple[type, Any]:
    # The type is part of the key because True, 1 and 1.0 are equal, as are 0.0 and -0.0, which have different texts.
    kind = type(value)
    return kind, (repr(value) if kind is float else value)


def _emitted(documents: Iterable[object]) -> str:
    events: list[yaml.Event] = [yaml.StreamStartEvent()]
    for document in documents:
        events.append(_DOCUMENT)
        _append(events, document)
        events.append(_DOCUMENT_END)
    return _emit((*events, yaml.StreamEndEvent()))


def _emit(events: Iterable[yaml.Event]) -> str:
    text: str = yaml.emit(events, Dumper=_Emitter, width=_WIDTH, allow_unicode=True)
    return text


def _append(events: list[yaml.Event], value: Any) -> None:
    kind = type(value)
    if kind is dict or isinstance(value, dict):
        events.append(_MAP)
        for key, item in value.items():
            _append(events, key)
            _append(events, item)
        events.append(_MAP_END)
    elif kind is list or kind is tuple:
        events.append(_SEQ)
        for item in value:
            _append(events, item)
        events.append(_SEQ_END)
    else:
        key = _scalar_key(value)
        known = _scalars.get(key)
        events.append(known if known is not None else _scalar(key, value))


def _scalar(key: tuple[type, Any], value: Any) -> yaml.ScalarEvent:
    event = _event(key, value)
    if len(_scalars) < _MAX_KNOWN:
        _scalars[key] = event
    return event


def _event(key: tuple[type, Any], value: Any) -> yaml.ScalarEvent:
    node: Any = SafeRepresenter().represent_data(value)
    plain = _resolver.resolve(yaml.ScalarNode, node.value, (True, False))
    quoted = _resolver.resolve(yaml.ScalarNode, node.value, (False, True))
    # Embedded files, such as those of a ConfigMap, are read and reviewed by people.
    style = "|" if key[0] is str and "\n" in value else node.style
    return yaml.ScalarEvent(None, node.tag, (node.tag == plain, node.tag == quoted), node.value, style=style)
