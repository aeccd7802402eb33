"""The registry of engines: how the stages of the compiler find the modules of each engine.

An engine is registered by its member of `apportion_policy.engine.Engine`; everything else is in its package:

| part | object | type | stage that uses it |
|---|---|---|---|
| `traits` | `TRAITS` | `engines.traits.EngineTraits` | all: versions, names, keys |
| `emit` | `BACKEND` | `backends.capability.Backend` | `backends`: from the IR to the engine's objects |
| `rules` | `RULES` | `engine_rules.verdict.EngineRules` | `engine_rules`: verdicts of its webhooks on raw objects |
| `rules.pending` | `RULES` | tuple of `Rule` | `engine_rules.workloads`: workloads that are accepted but never run |
| `rules.pod_webhook` | `RULES` | tuple of `Rule` | `engine_rules.pod_admission`: pods that its webhook rejects |
| `reader` | `READER` | `readers.record.Reader` | `readers`: from its objects to the queues of the IR |
| `binding` | `BINDING` | `bindings.binding.EngineBinding` | `bindings`: how a workload names its queue |
| `updates` | `MODEL` | `rollout.queue_state.Model` | `rollout`: the order of updates, if its webhooks need one |

`traits` and `emit` are required, the other parts are optional. `Rule` is
`engine_rules.workload_rules.workload_context.Rule`, a function from the context of the workloads to verdicts.

A part is loaded on first use: checking a policy loads no reader, and compiling for one engine loads no other.
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
"""The engines' names, each with a package beside this module."""

PLAIN_KUBERNETES = Engine.NATIVE.value
"""The API server with kube-scheduler: its objects and rules apply to every cluster, regardless of the engine."""

DEFAULT_ENGINE = Engine.KAI
"""The engine against which a policy without clusters is checked."""

_Part = TypeVar("_Part")


class EngineParts(Mapping[str, _Part]):
    """Objects by name, each loaded on first use from its path in `paths`: `package.module:ATTRIBUTE`."""

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
    """Return the paths of one part of each engine that has a module of that name, such as `rules.pending`."""
    packages = {engine: f"{__package__}.{engine}" for engine in ENGINES}
    return {
        engine: f"{package}.{module}:{attribute}"
        for engine, package in packages.items()
        if _has_module(package, module)
    }


def _has_module(package: str, module: str) -> bool:
    # `find_spec` raises an error if a parent of the module does not exist or is not a package.
    first, _, rest = module.partition(".")
    spec = find_spec(f"{package}.{first}")
    if spec is None or not rest:
        return spec is not None
    return spec.submodule_search_locations is not None and _has_module(f"{package}.{first}", rest)


TRAITS: Mapping[str, EngineTraits] = EngineParts(engine_parts("traits", "TRAITS"))
"""Traits by the engine's name."""
