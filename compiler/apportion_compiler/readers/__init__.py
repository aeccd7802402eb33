"""From an engine's objects to the queues of the IR: `record.py` says what comes back."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.engines.registry import Parts, engine_parts
from apportion_compiler.readers.record import Reader

READERS: Mapping[str, Reader] = Parts(engine_parts("reader", "READER"))
"""Readers by the engine's name."""
