"""A policy as plain JSON with the author's lines beside it: how it crosses from the child process.

The reader trusts nothing: it validates against the same models that the author's constructors use.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from enum import Enum
from typing import Any

from pydantic import ValidationError

from apportion_policy.declaration import Declaration, PlacedDict, reading_document
from apportion_policy.errors import ApportionPolicyError
from apportion_policy.policy import Policy
from apportion_policy.source import CallSite, SourceLocation

_AT = "$at"


class WireError(ApportionPolicyError):
    """Bytes that are not a policy as `dump` writes it."""


def dump(policy: Policy) -> bytes:
    """Return the policy as JSON; fields that were left out stay left out, locations are under `$at`."""
    files: dict[str, int] = {}
    body = _plain(policy, files)
    return json.dumps({"files": list(files), "policy": body}, ensure_ascii=False, separators=(",", ":")).encode()


def load(document: bytes) -> Policy:
    """Return the policy that `dump` wrote.

    Raises:
        WireError: If the bytes are anything else.
    """
    try:
        envelope = json.loads(document)
        files = [str(file) for file in envelope["files"]]
        body = envelope["policy"]
        with reading_document():
            return Policy.model_validate(_placed(body, files))
    except (ValueError, KeyError, TypeError, IndexError, RecursionError, ValidationError) as refused:
        raise WireError(f"the evaluated policy does not read back: {refused}") from refused


def _plain(value: Any, files: dict[str, int]) -> Any:
    if isinstance(value, Declaration):
        set_fields = value.model_fields_set
        plain: dict[str, Any] = {
            name: _plain(field, files) for name, field in value.__dict__.items() if name in set_fields or name == "kind"
        }
        plain[_AT] = _location(value.source, files)
        return plain
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, tuple | list):
        return [_plain(item, files) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item, files) for key, item in value.items()}
    return value


def _location(source: SourceLocation, files: dict[str, int]) -> list[Any]:
    callers = [[files.setdefault(call.file, len(files)), call.line] for call in source.callers]
    span = [source.line, source.column, source.end_line, source.end_column]
    return [files.setdefault(source.file, len(files)), *span, callers]


def _placed(value: Any, files: list[str]) -> Any:
    if isinstance(value, dict):
        at = value.pop(_AT, None)
        if at is None:
            return {key: _placed(item, files) for key, item in value.items()}
        placed = PlacedDict((key, _placed(item, files)) for key, item in value.items())
        file, line, column, end_line, end_column, callers = at
        placed.at = SourceLocation(
            files[file],
            int(line),
            int(column),
            int(end_line),
            int(end_column),
            tuple(CallSite(files[f], int(n)) for f, n in callers),
        )
        return placed
    if isinstance(value, list):
        return [_placed(item, files) for item in value]
    return value
