"""One module (or folder) for each target: the IR in, Kubernetes objects out, in the order in which to apply them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from apportion_compiler.backends.capability import Backend, Companion

_Target = TypeVar("_Target", bound="Backend | Companion")


class _Targets(Mapping[str, _Target]):
    """Targets by name, each loaded when it is first asked for: checking a policy needs its own engines' alone."""

    def __init__(self, attributes: Mapping[str, str]) -> None:
        self._attributes = attributes
        self._loaded: dict[str, _Target] = {}

    def __getitem__(self, name: str) -> _Target:
        if name not in self._loaded:
            module, _, attribute = self._attributes[name].partition(":")
            self._loaded[name] = getattr(import_module(f"{__name__}.{module}"), attribute)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._attributes

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)


_BACKENDS = {
    "ack": "ack:BACKEND",
    "kai": "kai:BACKEND",
    "koordinator": "koordinator:BACKEND",
    "kueue": "kueue:BACKEND",
    "native": "native:BACKEND",
    "volcano": "volcano:BACKEND",
    "yunikorn": "yunikorn:BACKEND",
}
_COMPANIONS = {"node-pools": "nodepools:COMPANION"}

BACKENDS: Mapping[str, Backend] = _Targets(_BACKENDS)
"""Backends by the engine's name."""

COMPANIONS: Mapping[str, Companion] = _Targets(_COMPANIONS)
"""Targets that accompany an engine's on clusters that need them."""

EMITTERS: Mapping[str, Backend | Companion] = _Targets({**_BACKENDS, **_COMPANIONS})
"""Every target by its name."""
