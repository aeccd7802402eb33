"""The JSON Schema of the snapshot format, generated from the records."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from apportion_runtime.core.snapshot import Settings, Snapshot
from apportion_runtime.core.status import BY_NAME
from apportion_runtime.snapshots.codec import default_of, hints, is_status, key_of
from apportion_runtime.snapshots.document import API_VERSION, KIND

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SIMPLE: Mapping[type, Any] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    object: {"type": ["string", "number", "boolean"]},
}


def snapshot_schema() -> dict[str, Any]:
    """Return the schema of a snapshot document."""
    definitions: dict[str, Any] = {}
    body = _record(Snapshot, definitions)
    _of(Settings, definitions)
    return {
        "$schema": _DIALECT,
        "title": "Cluster snapshot",
        "description": "State of a cluster at a point in time, as read by `apportion simulate --cycle`; see docs/snapshot.md.",
        "type": "object",
        "additionalProperties": False,
        "required": ["apiVersion", "kind"],
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": KIND},
            **body["properties"],
            "settings": {"$ref": "#/$defs/Settings"},
        },
        "$defs": dict(sorted(definitions.items())),
    }


def _of(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if is_dataclass(hint) and isinstance(hint, type):
        if hint.__name__ not in definitions:
            definitions[hint.__name__] = {}
            definitions[hint.__name__] = _record(hint, definitions)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        (only,) = (argument for argument in arguments if argument is not types.NoneType)
        return {"anyOf": [_of(only, definitions), {"type": "null"}]}
    if origin is tuple and arguments[-1] is not Ellipsis:
        rows = [_of(argument, definitions) for argument in arguments]
        return {"type": "array", "prefixItems": rows, "items": False, "minItems": len(rows)}
    if origin in (tuple, frozenset):
        return {"type": "array", "items": _of(arguments[0], definitions)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _of(arguments[1], definitions)}
    return dict(_SIMPLE[hint])


def _record(cls: type, definitions: dict[str, Any]) -> dict[str, Any]:
    annotations = hints(cls)
    made: dict[str, Any] = {"type": "object", "additionalProperties": False}
    if cls.__doc__:
        made["description"] = " ".join(cls.__doc__.split("\n\n")[0].split())
    required = [key_of(cls, f.name) for f in fields(cls) if default_of(f) is MISSING]
    if required:
        made["required"] = required
    made["properties"] = {
        key_of(cls, f.name): {"enum": list(BY_NAME)}
        if is_status(cls, f.name)
        else _of(annotations[f.name], definitions)
        for f in fields(cls)
    }
    return made
