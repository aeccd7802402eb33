"""Parses the configuration document of the scheduler; a fault is one sentence with file, line and remedy."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, NoReturn

import yaml

from apportion_runtime.kube.configuration import (
    API_VERSION,
    FIELDS,
    KIND,
    SchedulerConfiguration,
    engine_fault,
    timing_fault,
)

_HEADER = {"apiVersion": API_VERSION, "kind": KIND}
_BY_PATH = {field.path: field for field in FIELDS}
_GROUPS = {field.path.partition(".")[0] for field in FIELDS if "." in field.path}


class ConfigurationError(ValueError):
    """The document is invalid; the message is one clause with file and line."""


def parse_configuration(text: str, file: str) -> dict[str, Any]:
    """Return the values that a document sets, by attribute of `SchedulerConfiguration`.

    Raises:
        ConfigurationError: If it is invalid.
    """
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as wrong:
        mark = getattr(wrong, "problem_mark", None)
        line = 1 if mark is None else mark.line + 1
        problem = getattr(wrong, "problem", None) or "unreadable characters"
        raise ConfigurationError(f"{file}:{line}: invalid YAML: {problem}") from None
    if not isinstance(root, yaml.MappingNode):
        raise ConfigurationError(
            f"{file}:1: the document must be a mapping with apiVersion: {API_VERSION} and kind: {KIND}"
        )
    read = _Reader(file)
    read.mapping(root, "")
    for key, expected in _HEADER.items():
        if key not in read.header:
            raise ConfigurationError(f"{file}:1: {key} is missing: add `{key}: {expected}`")
    misplaced = engine_fault(read.values.get("engine", SchedulerConfiguration().engine), read.values)
    if misplaced is not None:
        field, why = misplaced
        raise ConfigurationError(f"{file}:{read.lines[field.path]}: {why}")
    fault = timing_fault(SchedulerConfiguration(**read.values))
    if fault is not None:
        raise ConfigurationError(f"{file}:{read.lines.get('leaderElection', 1)}: {fault}")
    return read.values


class _Reader:
    """Collects the values of a document, and the line of each key."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.values: dict[str, Any] = {}
        self.header: set[str] = set()
        self.lines: dict[str, int] = {}

    def mapping(self, node: yaml.MappingNode, group: str) -> None:
        for key, value in node.value:
            name = str(key.value)
            path = f"{group}.{name}" if group else name
            line = key.start_mark.line + 1
            if path in self.lines:
                self._fail(line, f"{path} is set twice: remove this value or the value on line {self.lines[path]}")
            self.lines[path] = line
            if path in _HEADER:
                self.header.add(path)
                if value.value != _HEADER[path]:
                    self._fail(line, f"{path} must be {_HEADER[path]}")
            elif path in _GROUPS:
                if not isinstance(value, yaml.MappingNode):
                    self._fail(line, f"{path} must be a mapping with the keys {', '.join(_keys(path))}")
                self.mapping(value, path)
            elif path in _BY_PATH:
                self._field(path, value, line)
            else:
                meant = _meant(name, group)
                cure = f"did you mean {meant}?" if meant else f"remove it, or use one of {', '.join(_keys(group))}"
                self._fail(line, f"{path} is unknown: {cure}")

    def _field(self, path: str, node: yaml.Node, line: int) -> None:
        field = _BY_PATH[path]
        try:
            value = yaml.SafeLoader("").construct_object(node, deep=True)
        except (yaml.YAMLError, ValueError):
            self._fail(line, f"{path} must be a {field.type}")
        fault = field.fault(value)
        if fault is not None:
            self._fail(line, f"{path} {fault}, not {_shown(value)}")
        self.values[field.attribute] = value

    def _fail(self, line: int, fault: str) -> NoReturn:
        raise ConfigurationError(f"{self._file}:{line}: {fault}")


def _meant(name: str, group: str) -> str | None:
    """Return the path of the field that an unknown key probably means: of a similar name, or in another group."""
    similar = get_close_matches(name, _keys(group), n=1, cutoff=0.8)
    if similar:
        return f"{group}.{similar[0]}" if group else similar[0]
    return next((path for path in _BY_PATH if path.rpartition(".")[2] == name), None)


def _keys(group: str) -> list[str]:
    if group:
        return [field.path.partition(".")[2] for field in FIELDS if field.path.startswith(f"{group}.")]
    return [*_HEADER, *dict.fromkeys(field.path.partition(".")[0] for field in FIELDS)]


def _shown(value: object) -> str:
    match value:
        case None:
            return "empty"
        case bool():
            return "true" if value else "false"
        case dict() | list():
            return "a mapping" if isinstance(value, dict) else "a list"
        case _:
            return str(value) or '""'
