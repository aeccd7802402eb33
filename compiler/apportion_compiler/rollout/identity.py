"""The identity of an object, independent of its API version."""

from __future__ import annotations

from typing import NamedTuple

from apportion_compiler.plain_objects import Manifest, group_of, mapping, text


class Identity(NamedTuple):
    """Group, kind, namespace (empty if none) and name."""

    group: str
    kind: str
    namespace: str
    name: str


def identity_of(manifest: Manifest) -> Identity:
    """Return an object's identity."""
    metadata = mapping(manifest, "metadata")
    namespace, name = text(metadata, "namespace") or "", text(metadata, "name") or ""
    return Identity(group_of(manifest), str(manifest.get("kind")), namespace, name)
