"""The engines, and how the stages of the compiler find what each engine adds to them.

An engine is registered by its member of `apportion_policy.engine.Engine`; everything else is in its folder here:

| part | object | stage that uses it |
|---|---|---|
| `traits` | `TRAITS` | all: versions, names, keys |
| `emit` | `BACKEND` | `backends`: from the IR to the engine's objects |
| `rules` | `RULES` | `engine_rules`: what its webhooks and validators say of raw objects |
| `rules.pending` | `RULES` | `engine_rules.workloads`: workloads that it accepts and never runs |
| `rules.pod_webhook` | `RULES` | `engine_rules.pod_admission`: pods that its webhook refuses |
| `reader` | `READER` | `readers`: from its objects to the queues of the IR |
| `binding` | `BINDING` | `bindings`: how a workload names its queue |
| `updates` | `MODEL` | `rollout`: the order of updates, where its webhooks need one |

A part is loaded when a stage first asks for it: checking a policy loads no reader, and compiling for one engine loads no
other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

from apportion_policy.engine import Engine

if TYPE_CHECKING:
    from apportion_compiler.engines.traits import EngineTraits

ENGINES = tuple(sorted(engine.value for engine in Engine))
"""The engines' names, each of a folder beside this module."""

PLAIN_KUBERNETES = Engine.NATIVE.value
"""The API server with its own scheduler: every cluster has its objects and rules, whichever engine schedules there."""

DEFAULT_ENGINE = Engine.KAI
"""The engine for which a policy without a cluster is checked."""

_Part = TypeVar("_Part")


class EngineParts(Mapping[str, _Part]):
    """Objects by name, each loaded when it is first asked for, from where `paths` says: `package.module:ATTRIBUTE`."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = paths
        self._loaded: dict[str, _Part] = {}

    def __getitem__(self, name: str) -> _Part:
        if name not in self._loaded:
            module, _, attribute = self._paths[name].partition(":")
            self._loaded[name] = getattr(import_module(module), attribute)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def engine_parts(module: str, attribute: str) -> dict[str, str]:
    """Return where one part of each engine is, for the engines that have a module of that name."""
    modules = {engine: f"{__package__}.{engine}.{module}" for engine in ENGINES}
    return {engine: f"{path}:{attribute}" for engine, path in modules.items() if find_spec(path) is not None}


TRAITS: Mapping[str, EngineTraits] = EngineParts(engine_parts("traits", "TRAITS"))
"""What every stage may know of an engine, by its name."""
