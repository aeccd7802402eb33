"""One module (or folder) for each target: the IR in, Kubernetes objects out, in the order in which to apply them."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.backends import ack, kai, koordinator, kueue, native, nodepools, volcano, yunikorn
from apportion_compiler.backends.capability import Backend, Companion

BACKENDS: Mapping[str, Backend] = {
    "ack": ack.BACKEND,
    "kai": kai.BACKEND,
    "koordinator": koordinator.BACKEND,
    "kueue": kueue.BACKEND,
    "native": native.BACKEND,
    "volcano": volcano.BACKEND,
    "yunikorn": yunikorn.BACKEND,
}
"""Backends by the engine's name."""

COMPANIONS: Mapping[str, Companion] = {nodepools.NAME: nodepools.COMPANION}
"""Targets that accompany an engine's on clusters that need them."""

EMITTERS: Mapping[str, Backend | Companion] = {**BACKENDS, **COMPANIONS}
"""Every target by its name."""
