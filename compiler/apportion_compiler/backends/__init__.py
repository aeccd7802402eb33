"""The backends, which turn the IR into Kubernetes objects in apply order, and the code that they share.

A backend is the `emit` part of its engine (`apportion_compiler.engines`). Companions, such
as node pools, are additional targets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from apportion_compiler.engines.registry import EngineParts, engine_parts

if TYPE_CHECKING:
    from apportion_compiler.backends.capability import Backend, Companion

_BACKENDS = engine_parts("emit", "BACKEND")
_COMPANIONS = {"node-pools": f"{__name__}.nodepools:COMPANION"}

BACKENDS: Mapping[str, Backend] = EngineParts(_BACKENDS)
"""Backends by the engine's name."""

COMPANIONS: Mapping[str, Companion] = EngineParts(_COMPANIONS)
"""Additional targets for clusters that need them."""

EMITTERS: Mapping[str, Backend | Companion] = EngineParts({**_BACKENDS, **_COMPANIONS})
"""Every target by its name."""
