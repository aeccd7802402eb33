"""The documented snapshot format: one document with the whole input of a cycle, parsed exactly as written.

`docs/snapshot.md` describes it, `schema.py` generates its JSON Schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

from apportion_runtime.core.snapshot import Settings, Snapshot
from apportion_runtime.snapshots.codec import Malformed, from_plain, to_plain

API_VERSION = "apportion.dev/v1"
KIND = "Snapshot"
_SECTIONS = ("nodes", "queues", "podGroups", "pods")
_DEFAULTS = Settings()


def is_snapshot(data: object) -> bool:
    """Return whether a document declares itself a snapshot."""
    return isinstance(data, dict) and data.get("kind") == KIND and str(data.get("apiVersion")).startswith("apportion.")


def snapshot_document(snapshot: Snapshot, settings: Settings = _DEFAULTS) -> dict[str, Any]:
    """Return a snapshot and the configuration of the scheduler as plain data."""
    plain = to_plain(snapshot)
    made: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND, "now": plain.pop("now", 0)}
    configured = to_plain(settings)
    if configured:
        made["settings"] = configured
    return {**made, **plain}


def read_document(data: Mapping[str, Any]) -> tuple[Snapshot, Settings]:
    """Return the content of a document. Raises `Malformed`."""
    rest = dict(data)
    version = rest.pop("apiVersion", None)
    if version != API_VERSION:
        raise Malformed(f"unsupported version `{version}`; the supported version is {API_VERSION}", ("apiVersion",))
    rest.pop("kind", None)
    try:
        settings = from_plain(Settings, rest.pop("settings", None) or {})
    except Malformed as wrong:
        raise wrong.below("settings") from None
    for section in _SECTIONS:
        rest.setdefault(section, [])
    return from_plain(Snapshot, rest), settings


def to_json(data: Mapping[str, Any]) -> str:
    """Return a document as JSON: a line for each record."""
    parts: list[str] = []
    for key, value in data.items():
        if isinstance(value, list) and value:
            items = ",\n".join(f"    {_line(item)}" for item in value)
            parts.append(f"  {_line(key)}: [\n{items}\n  ]")
        else:
            parts.append(f"  {_line(key)}: {_line(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def to_yaml(data: Mapping[str, Any]) -> str:
    """Return a document as YAML."""
    return yaml.dump(
        dict(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=120
    )


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True
