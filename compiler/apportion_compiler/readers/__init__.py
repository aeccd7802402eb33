"""Import of an engine's objects as queues of the IR; `record.py` defines the result."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.engines.registry import TRAITS, EngineParts, engine_parts
from apportion_compiler.plain_objects import group_of
from apportion_compiler.readers.record import Manifest, Reader

READERS: Mapping[str, Reader] = EngineParts(engine_parts("reader", "READER"))
"""Readers by the engine's name."""


def current_spec(manifest: Manifest) -> dict[str, object] | None:
    """Return an object's spec in the version that its engine's backend emits; None for objects of a single version."""
    group = group_of(manifest)
    reader = next(
        (READERS[name] for name, traits in TRAITS.items() if group in traits.groups and name in READERS), None
    )
    return None if reader is None or reader.current_spec is None else reader.current_spec(manifest)
