"""The ConfigMap with YuniKorn's configuration, plain or compressed.

Source: k8shim 23b6b47f, pkg/conf/schedulerconf.go (FlattenConfigMaps, Decompress).
"""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from apportion_api.yunikorn.names import CONFIG_MAP, DEFAULTS_CONFIG_MAP

Manifest = Mapping[str, Any]

CONFIG_MAPS = (DEFAULTS_CONFIG_MAP, CONFIG_MAP)
"""The ConfigMaps that YuniKorn reads; the second has precedence."""

POLICY_GROUP_KEY = "service.policyGroup"
DEFAULT_POLICY_GROUP = "queues"

_MAX_TEXT = 64 * 2**20
"""A ConfigMap can have one mebibyte; compressed text that expands beyond this size is an attack."""


@dataclass(frozen=True, slots=True)
class QueuesText:
    """The text of a configuration, and its field."""

    text: str
    field: str


class UnreadableConfigError(ValueError):
    """The field is invalid. `field` is its path."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


def is_config_map(manifest: Manifest) -> bool:
    """Return whether YuniKorn reads the object's configuration, regardless of its namespace."""
    return manifest.get("kind") == "ConfigMap" and manifest.get("apiVersion") == "v1" and _name(manifest) in CONFIG_MAPS


def queues_text(manifest: Manifest) -> QueuesText | None:
    """Return the configuration of a ConfigMap; None if it has none. Raises `UnreadableConfigError`."""
    data, binary = _texts(manifest, "data"), _texts(manifest, "binaryData")
    group = data.get(POLICY_GROUP_KEY, DEFAULT_POLICY_GROUP)
    key = f"{group}.yaml"
    # Compressed configurations are read last.
    for packed in sorted(binary):
        stem, dot, ending = packed.rpartition(".")
        if dot and stem == key and ending.lower() == "gz":
            field = f'binaryData["{packed}"]'
            return QueuesText(_unpacked(binary[packed], field), field)
    return QueuesText(data[key], f'data["{key}"]') if key in data else None


def _unpacked(encoded: str, field: str) -> str:
    try:
        with gzip.GzipFile(fileobj=_bytes(encoded)) as packed:
            text = packed.read(_MAX_TEXT + 1)
    except (OSError, EOFError, zlib.error, binascii.Error, ValueError):
        raise UnreadableConfigError("not base64-encoded gzip data", field) from None
    if len(text) > _MAX_TEXT:
        raise UnreadableConfigError(f"exceeds {_MAX_TEXT} bytes", field)
    return text.decode("utf-8", "replace")


def _bytes(encoded: str) -> io.BytesIO:
    return io.BytesIO(base64.b64decode("".join(encoded.split()), validate=True))


def _name(manifest: Manifest) -> object:
    metadata = manifest.get("metadata")
    return metadata.get("name") if isinstance(metadata, Mapping) else None


def _texts(value: object, key: str) -> Mapping[str, str]:
    found = cast("Mapping[str, object]", value).get(key) if isinstance(value, Mapping) else None
    held = cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}
    return {name: text for name, text in held.items() if isinstance(text, str)}
