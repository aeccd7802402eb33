"""From the IR to Kubernetes objects, in the order in which to apply them: what all backends share, and the targets.

A backend is the `emit` part of its engine (`apportion_compiler.engines`). Beside the engines' there are companions, such
as node pools.
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
"""Targets that accompany an engine's on clusters that need them."""

EMITTERS: Mapping[str, Backend | Companion] = EngineParts({**_BACKENDS, **_COMPANIONS})
"""Every target by its name."""
